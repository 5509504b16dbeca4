"""When requests.log is synced: in a thread while the crawl runs, and not once it is closed."""

import asyncio
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.outputs.requests import RequestLog
from webcrawl.crawl.run import OfRequests
from webcrawl.store.crawldb import CrawlDB


@pytest.fixture(name="run")
def _run(tmp_path):
    """A run of a crawl whose hosts have no pause."""
    with closing(CrawlDB(tmp_path / "state")) as db:
        parts = SimpleNamespace(db=db, about=SimpleNamespace(pause=lambda _: (0.0, "")))
        yield SimpleNamespace(
            is_open=True,
            crawl=SimpleNamespace(parts=parts),
            requests=OfRequests([], []),
            ends=ExitStack(),
            fail=pytest.fail,
        )


@pytest.fixture(name="log")
def _log(run, tmp_path):
    log = RequestLog({"JOBDIR": str(tmp_path)})
    log.open(run)
    return log


def lines(folder):
    return [row.split("\t") for row in (folder / "logs/requests.log").read_text().splitlines()]


def test_what_comes_after_the_end(log, run, tmp_path):
    """A crawl that takes long to close may still send requests, and syncs no file that is closed
    already.
    """

    async def main():
        (sent,), (left,) = run.requests
        sent(1, "GET", "http://a/", None)
        log.close_spider()
        sent(2, "GET", "http://b/", None)
        left(2, None)
        run.ends.close()
        sent(3, "GET", "http://c/", None)
        left(3, None)

    asyncio.run(main())

    assert [row[2] for row in lines(tmp_path)] == ["http://a/", "http://b/"]


def test_it_is_closed_without_having_been_opened(tmp_path):
    """Another output could not be opened: Scrapy then closes them all."""
    RequestLog({"JOBDIR": str(tmp_path)}).close_spider()


def test_a_wait_begins_when_the_answer_has_ended(log, run, tmp_path, monkeypatch):
    """As the host's wait does, and not some milliseconds later, when a busy machine hears of it. A
    machine's clock that is set meanwhile changes no wait.
    """

    async def main():
        (sent,), (left,) = run.requests
        monkeypatch.setattr("time.time", lambda: 3600.0)
        monkeypatch.setattr("time.monotonic", lambda: 8.0)
        sent(1, "GET", "http://a/", None)
        left(1, Outcome(200, at=7200.0, ended=5.0))
        sent(2, "GET", "http://a/2", None)
        run.ends.close()

    asyncio.run(main())

    assert [row[5] for row in lines(tmp_path)] == ["-", "3.000"]


def test_a_url_is_written_as_crawl_log_has_it(log, run, tmp_path):
    """An awaited download may spell it in another way: by the URL the two logs, and the waits of
    its host, are one.
    """

    async def main():
        (sent,), (left,) = run.requests
        for number, url in enumerate(
            ("http://A.test:80?x#part", "http://a.test/?x", "s3://bucket/x")
        ):
            sent(number, "GET", url, Link("http://a.test/?x"))
            left(number, None)
        run.ends.close()

    asyncio.run(main())

    assert [row[2] for row in lines(tmp_path)] == [
        "http://a.test/?x",
        "http://a.test/?x",
        "s3://bucket/x",
    ]
    assert [row[5] == "-" for row in lines(tmp_path)] == [True, False, True]
