"""What the downloader asks of earlier crawls before a request."""

import asyncio
import time
from collections import Counter
from threading import Event
from types import SimpleNamespace

import pytest

from tests.store.jobdir.test_index_line import DIGEST, line
from tests.support.cdx_server import cdx_server
from tests.support.warc_crawl import exchange
from webcrawl.crawl import earlier_pages
from webcrawl.crawl.earlier_pages import CdxServers, Since
from webcrawl.crawl.trip import Trip


def test_a_look_at_the_archive_is_no_time_of_the_host():
    """The download begins when the earlier page has been read, however slow that disk is."""
    read = []
    earlier = SimpleNamespace(
        lost=0, of_url=lambda url: read.append(time.monotonic()), close=lambda: None
    )
    since, trip = Since(earlier, lambda names: None, pytest.fail), Trip(begun=time.monotonic())

    assert asyncio.run(since.latest(trip, "http://a.test/", [])) is None

    since.close()
    assert trip.begun >= read[0]


PAGE = exchange("http://a.test/x", b"<p>")


@pytest.fixture(name="ask")
def _ask():
    """What servers at these addresses find for pages; counters."""
    counters = Counter()

    def ask(*addresses, pages=(PAGE,)):
        async def asked():
            servers = CdxServers(addresses, "20990101000000", counters.update)
            try:
                return [await servers.holder(page) for page in pages]
            finally:
                servers.close()

        return asyncio.run(asked())

    ask.counters = counters
    return ask


def test_the_first_server_that_has_it_is_believed(ask):
    """The others are asked if it has not; a server that fails is no reason not to ask the next."""
    with (
        cdx_server() as none,
        cdx_server() as bad,
        cdx_server([line(digest=PAGE.digest)]) as some,
        cdx_server() as last,
    ):
        bad.fail = lambda site: site.say(500, b"")
        (found,) = ask(none.address, bad.address, some.address, last.address)

    assert found.url == PAGE.url
    assert [len(one.requested) for one in (none, bad, some, last)] == [1, 1, 1, 0]
    assert not ask.counters


def test_what_was_found_is_known_under_every_url(ask):
    """The servers find a payload only near its URL."""
    with cdx_server([line(digest=PAGE.digest)]) as some:
        found = ask(
            some.address,
            pages=[PAGE, exchange("http://b.test/", b"<p>"), exchange("http://b.test/", b"<b>")],
        )

    assert [one and one.url for one in found] == [PAGE.url, PAGE.url, None]
    assert [one["url"] for one in some.requested] == ["http://a.test/", "http://b.test/"]


def test_no_answer_is_counted_and_told_once(ask, caplog):
    """Each page without an answer; the server itself is left alone meanwhile."""
    with cdx_server([line(digest=DIGEST)]) as bad:
        bad.fail = lambda site: site.say(500, b"")

        assert ask(bad.address, pages=[PAGE] * 3) == [None] * 3
    assert len(bad.requested) == 1
    assert ask.counters == {"since/unasked": 3}
    assert len(caplog.records) == 1


def test_a_page_waits_only_so_long(ask, monkeypatch):
    """Who drips an answer is not waited for; the end of the crawl does not wait for it either."""
    monkeypatch.setattr(earlier_pages, "PATIENCE", 0.2)
    over = Event()
    with cdx_server() as slow:
        slow.fail = lambda site: over.wait(30)
        try:
            assert ask(slow.address) == [None]
        finally:
            over.set()

    assert ask.counters == {"since/unasked": 1}
