"""Requests to hubs that answer what they like."""

import asyncio
import time
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scrapy.exceptions import DownloadCancelledError
from scrapy.http import Response

from tests.support.waiting import eventually
from tests.support.warc_crawl import exchange
from webcrawl.adapter.extensions import websub
from webcrawl.adapter.extensions.websub import PAUSE_FACTOR, WebSub
from webcrawl.base.model import Link
from webcrawl.content.page import Page
from webcrawl.net.websub import HOPS, RETRY, Push, Subscription, Subscriptions

HUB = "http://hub.test/"
VALUES = {
    "WEBSUB_PORT": 0,
    "WEBSUB_HOST": None,
    "WEBSUB_ADDRESS": "http://here.test/websub",
    "HIVE_DRONES": 0,
    "FEED_LINKS": False,
}


class Opened:
    """The extension of a crawl that has just been opened; the callback is not served."""

    def __init__(self, monkeypatch, db, download=None):
        self.signalling = SimpleNamespace(
            offered=None,
            signals=SimpleNamespace(counters=Counter()),
            site_of=lambda _: "a.test",
            pushed=None,
        )
        parts = SimpleNamespace(
            signalling=self.signalling,
            db=db,
            clock=time.time,
            in_force=SimpleNamespace(paused=False),
            uplink=SimpleNamespace(out=False),
        )
        scheduler = SimpleNamespace(
            crawl=SimpleNamespace(parts=parts),
            run=SimpleNamespace(stops=SimpleNamespace(callback=lambda _: None)),
            fail=pytest.fail,
            wake=lambda: None,
        )
        monkeypatch.setattr(websub, "scheduler_of", lambda _: scheduler)
        monkeypatch.setattr(websub, "Callback", self._callback)
        monkeypatch.setattr(websub, "INTERVAL", 0.001)
        self.extension = WebSub(
            SimpleNamespace(engine=SimpleNamespace(download_async=download)), VALUES
        )

    def _callback(self, listening, verify, push, knows):
        async def start():
            listening.close()

        self.push = push
        return SimpleNamespace(start=start, close=lambda: None)


@pytest.fixture(name="posted")
def _posted(monkeypatch, db):
    """What came of asking a hub that answers so, and where it was asked."""
    sent = []
    monkeypatch.setattr(Subscriptions, "sent", lambda _, token, status, now: sent.append(status))

    def posted(*answers):
        requested, answering = [], iter(answers)

        async def download(request):
            requested.append(request.url)
            status, location = next(answering)
            return Response(request.url, status, {"Location": location} if location else {})

        async def run():
            opened = Opened(monkeypatch, db, download)
            opened.extension.opened()
            hub = (b"Link", f'<{HUB}>; rel="hub"'.encode())
            page = exchange("http://a.test/", headers=[hub])
            opened.signalling.offered(Page.of(Link("http://a.test/"), page))
            await eventually(lambda: sent)
            opened.extension.closed()

        asyncio.run(run())
        return sent[0], requested

    return posted


def test_a_redirect(posted):
    """It is followed to where it leads."""
    assert posted((307, "/there"), (202, None)) == (202, [HUB, "http://hub.test/there"])


@pytest.mark.parametrize(
    "location", ["http://[", "http://a:99999/", "file:///etc/passwd", "ftp://a/", "x" * 9999]
)
def test_a_redirect_to_nowhere(posted, location):
    """The hub has not answered; nothing else is asked, and nothing is raised."""
    assert posted((308, location)) == (0, [HUB])


def test_a_redirect_for_ever(posted):
    """It is followed so often and no more."""
    status, requested = posted(*[(307, f"/{number}") for number in range(99)])
    assert (status, len(requested)) == (0, HOPS + 1)


def test_a_crawl_that_ends_meanwhile(monkeypatch, db):
    """It has given up its request: that is no failure of the hub's, which is asked again soon."""
    requested = []

    async def download(request):
        requested.append(request.url)
        raise DownloadCancelledError

    async def run():
        opened = Opened(monkeypatch, db, download)
        opened.extension.opened()
        hub = (b"Link", f'<{HUB}>; rel="hub"'.encode())
        opened.signalling.offered(
            Page.of(Link("http://a.test/"), exchange("http://a.test/", headers=[hub]))
        )
        await eventually(lambda: requested)
        await asyncio.sleep(0)
        opened.extension.closed()

    asyncio.run(run())
    later = Subscriptions(db, b"", "")
    assert [one.hub for one in later.due(time.time() + RETRY, 9)] == [HUB]
    assert not later.counters["websub/failed"]


def test_pushes_have_a_tenth_of_the_time(monkeypatch, db):
    """After a push that took long to read, the next one waits nine times as long, whether it was
    there or comes now.
    """
    times = []
    page = Link("http://a.test/").pack()
    one = Subscription("t", "http://a.test/", HUB, page, "a.test")
    monkeypatch.setattr(Subscriptions, "pushed", lambda *_: one)

    def slowly(*_):
        began = time.monotonic()  # as the event loop's clock
        time.sleep(0.01)  # a large one
        times.append((began, time.monotonic()))

    async def run():
        opened = Opened(monkeypatch, db)
        opened.signalling.pushed = slowly
        opened.extension.opened()
        for pushes, read in ((2, 2), (1, 3)):
            for _ in range(pushes):
                opened.push(Push("t", "", "", b""))
            await eventually(lambda read=read: len(times) == read)
        opened.extension.closed()

    asyncio.run(run())
    assert len(times) == 3
    for (began, ended), (later, _) in pairwise(times):
        assert later - ended > 0.9 * PAUSE_FACTOR * (ended - began)
