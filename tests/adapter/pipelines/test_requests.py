"""When requests.log is synced: in a thread while the crawl runs, and not once it is closed."""

from types import SimpleNamespace

import pytest
from scrapy import Request

from webcrawl.adapter.pipelines import requests
from webcrawl.adapter.pipelines.requests import RequestsPipeline
from webcrawl.adapter.trip import give_trip
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.trip import Trip
from webcrawl.store.disk import Disk
from webcrawl.store.requests_log import SyncedLog


@pytest.fixture(name="timers")
def _timers(monkeypatch):
    """What was asked for a second later, and not cancelled."""
    waiting = []

    def call_later(_, job):
        waiting.append(job)
        return SimpleNamespace(cancel=lambda: waiting.remove(job))

    monkeypatch.setattr(requests, "call_later", call_later)
    return waiting


def test_no_timer_outlives_the_file(timers, tmp_path):
    """A crawl that takes long to close does not sync a file that is closed already."""
    pipeline = RequestsPipeline(None, tmp_path)
    pipeline._log = SyncedLog(Disk(), tmp_path / "logs/requests.log")
    pipeline._sent(Request("http://a/"), None)
    assert len(timers) == 1

    pipeline.close_spider()
    pipeline._close()

    assert timers == []
    assert (tmp_path / "logs/requests.log").read_text().count("http://a/") == 1


def test_a_wait_begins_when_the_answer_has_ended(tmp_path):
    """As the host's wait does, and not some milliseconds later, when a busy machine hears of it."""
    pipeline = RequestsPipeline(None, tmp_path)
    pipeline._log = SyncedLog(Disk(), tmp_path / "logs/requests.log")
    request = Request("http://a/")
    trip = Trip(Link(request.url), keep=frozenset())
    give_trip(request, trip)
    trip.outcome = Outcome(200, at=5.0)
    pipeline._sent_out[request] = "a"

    pipeline._left(request)

    assert pipeline._answered == {"a": 5.0}


def test_a_url_is_written_as_crawl_log_has_it(timers, tmp_path):
    """An awaited download may spell it in another way: by the URL the two logs, and the waits of its host, are one."""
    pipeline = RequestsPipeline(None, tmp_path)
    pipeline._log = SyncedLog(Disk(), tmp_path / "logs/requests.log")
    for url in ("http://A.test:80?x#part", "http://a.test/?x", "s3://bucket/x"):
        request = Request(url)
        pipeline._sent(request, Trip(Link("http://a.test/?x"), keep=frozenset()))
        pipeline._left(request)
    lines = [row.split("\t") for row in (tmp_path / "logs/requests.log").read_text().splitlines()]

    assert [row[2] for row in lines] == ["http://a.test/?x", "http://a.test/?x", "s3://bucket/x"]
    assert [row[5] == "-" for row in lines] == [True, False, True]
