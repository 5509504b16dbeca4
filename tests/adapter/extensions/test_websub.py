"""Requests to hubs that answer what they like."""

import asyncio
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scrapy.http import Response

from webcrawl.adapter.extensions.websub import PAUSE, WebSub
from webcrawl.base.model import Link
from webcrawl.net.websub import HOPS, Push, Subscription

HUB = "http://hub.test/"


def posted(*answers):
    """What came of asking a hub that answers so, and where it was asked."""
    asked, answering = [], iter(answers)

    async def download(request):
        asked.append(request.url)
        status, location = next(answering)
        return Response(request.url, status, {"Location": location} if location else {})

    websub = WebSub(SimpleNamespace(engine=SimpleNamespace(download_async=download)), {})
    websub._subscriptions = SimpleNamespace(form=lambda one: b"hub.mode=subscribe")
    one = Subscription("t", "http://a.test/", HUB, Link("http://a.test/").pack(), "a.test")
    return asyncio.run(websub._posted(one)), asked


def test_a_redirect():
    """It is followed to where it leads."""
    assert posted((307, "/there"), (202, None)) == (202, [HUB, "http://hub.test/there"])


@pytest.mark.parametrize(
    "location", ["http://[", "http://a:99999/", "file:///etc/passwd", "ftp://a/", "x" * 9999]
)
def test_a_redirect_to_nowhere(location):
    """The hub has not answered; nothing else is asked, and nothing is raised."""
    assert posted((308, location)) == (0, [HUB])


def test_a_redirect_for_ever():
    """It is followed so often and no more."""
    status, asked = posted(*[(307, f"/{number}") for number in range(99)])
    assert (status, len(asked)) == (0, HOPS + 1)


def test_pushes_have_a_tenth_of_the_time():
    """After a push that took long to read, the next one waits nine times as long, whether it was
    there or comes now.
    """
    times, idle = [], asyncio.Event()

    async def run():
        loop = asyncio.get_running_loop()
        websub = WebSub(SimpleNamespace(), {})
        websub._crawl = SimpleNamespace(parts=SimpleNamespace(clock=time.time))
        websub._subscriptions = SimpleNamespace(pushed=lambda token, *_: token)

        def heard(*_):
            began = loop.time()
            time.sleep(0.01)  # a large one
            times.append((began, loop.time()))
            if not websub._pushes:
                idle.set()

        websub._heard = heard
        for several in (2, 1):
            idle.clear()
            for _ in range(several):
                websub._pushed(Push("t", "", "", b""))
            await idle.wait()

    asyncio.run(run())
    for (began, ended), (later, _) in pairwise(times):
        assert later - ended > 0.9 * PAUSE * (ended - began)
