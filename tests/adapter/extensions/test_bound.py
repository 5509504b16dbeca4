"""Where what bounds a crawl is looked at."""

import asyncio
import signal
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from webcrawl.adapter.archive_reading import EXTENSIONS
from webcrawl.adapter.extensions import bound
from webcrawl.adapter.extensions.bound import Bound, stopped_by
from webcrawl.crawl.bound import NO_WAY_OUT, PREFIX, Cause


def test_archives_are_not_looked_at():
    """`scrapy process` fetches nothing: it has no clients to look at, and switches this off."""
    path = f"{Bound.__module__}.{Bound.__qualname__}"
    assert EXTENSIONS[path] is None


@pytest.mark.parametrize(
    ("outlook", "no_way", "words"),
    [
        ({"stopped_by": "paused", "trouble": "paused"}, False, "paused"),
        ({"stopped_by": "", "trouble": "no name server"}, False, ""),
        ({"stopped_by": "", "trouble": "no name server"}, True, "no name server"),
        ({"stopped_by": "", "trouble": ""}, True, NO_WAY_OUT),
    ],
)
def test_a_pause_is_of_all_hosts(outlook, no_way, words):
    """Without name servers hosts with known addresses are fetched: a pause is what keeps all that
    wait from it.
    """
    assert stopped_by(SimpleNamespace(**outlook), no_way=no_way) == words


class Watched:
    """A crawl that fetches nothing, and what watches it. Its clock stands unless it is set."""

    def __init__(self, monkeypatch, *, begun=False, ready_hosts=lambda: 0, stopped_by=""):
        self.counters, self.now = Counter(), 0.0
        self.outlook = SimpleNamespace(
            stopped_by=stopped_by,
            trouble=stopped_by,
            ready_hosts=ready_hosts,
            waits=lambda: SimpleNamespace(rules=Counter()),
            servers=SimpleNamespace(names=""),
            has_lost_server=False,
        )
        parts = SimpleNamespace(
            counters=self.counters,
            db=SimpleNamespace(disk=SimpleNamespace(waited=0.0)),
            frontier=SimpleNamespace(look=SimpleNamespace(figures=dict)),
            revisiting=None,
        )
        scheduler = SimpleNamespace(
            saves_no_more=False,
            end=SimpleNamespace(begun=begun),
            crawl=SimpleNamespace(outlook=self.outlook, parts=parts),
        )
        downloader = SimpleNamespace(
            active=(),
            barrier=SimpleNamespace(inside=()),
            running=SimpleNamespace(all=tuple),
            network=SimpleNamespace(
                shortage=SimpleNamespace(is_pausing=False), bandwidth=SimpleNamespace(held=False)
            ),
            capacity=SimpleNamespace(wanted=16),
            total_concurrency=16,
        )
        clock = SimpleNamespace(monotonic=lambda: self.now, thread_time=time.thread_time)
        monkeypatch.setattr(bound, "scheduler_of", lambda _: scheduler)
        monkeypatch.setattr(bound, "downloader_of", lambda _: downloader)
        monkeypatch.setattr(bound, "time", clock)
        monkeypatch.setattr(signal, "signal", lambda *_: None)


def looked(watched, *times, last=lambda: None):
    """What is counted in looks at these times after the start; `last` is called before the crawl
    is closed.
    """

    async def run():
        extension = Bound(SimpleNamespace(signals=SimpleNamespace(connect=lambda *_: None)))
        extension.opened()
        for now in times:
            watched.now = max(watched.now, now)
            extension.look()
        last()
        extension.closed()

    asyncio.run(run())
    return watched.counters


@pytest.mark.parametrize(("now", "helps"), [("", False), ("paused", True)])
def test_the_last_word_on_a_pause(monkeypatch, now, helps):
    """What ends a pause is said in the end only of a crawl that is paused to the end."""
    watched = Watched(monkeypatch, stopped_by="paused")

    def goes_on():
        watched.outlook.stopped_by = watched.outlook.trouble = now

    assert looked(watched, 1.0, last=goes_on) == {f"{PREFIX}{Cause.PAUSE}": 1}
    assert ("resume" in watched.outlook.bound()) == helps


def test_a_look_that_others_interrupt_is_no_long_one(monkeypatch):
    """What a look costs decides when the next one is; on a busy core it may take long and cost
    nothing.
    """

    def ready_hosts():
        watched.now += 1.0  # the process gets no time, in the middle of the look
        return 0

    watched = Watched(monkeypatch, ready_hosts=ready_hosts)

    assert looked(watched, 0.0, 1.0, 2.0).total() == 2


@pytest.mark.parametrize(("begun", "counted"), [(False, 1), (True, 0)])
def test_the_end_is_bound_by_nothing(monkeypatch, begun, counted):
    """While a crawl closes, which a slow disk may make minutes, it fetches nothing, and no cause of
    that is counted.
    """
    assert looked(Watched(monkeypatch, begun=begun), 1.0).total() == counted
