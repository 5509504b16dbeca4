"""Where what bounds a crawl is looked at."""

import time
from collections import Counter
from types import SimpleNamespace

import pytest

from webcrawl.adapter.archive_reading import EXTENSIONS
from webcrawl.adapter.extensions import bound
from webcrawl.adapter.extensions.bound import Bound, stopped_by
from webcrawl.crawl.bound import NO_WAY_OUT, BoundLook, Cause


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


@pytest.mark.parametrize(("now", "helps"), [("", False), ("paused", True)])
def test_the_last_word_on_a_pause(now, helps):
    """What ends a pause is said in the end only of a crawl that is paused to the end."""
    extension, outlook = Bound(SimpleNamespace()), SimpleNamespace(stopped_by=now, trouble=now)
    extension._crawl = SimpleNamespace(outlook=outlook)
    extension._run.add(BoundLook(seconds=1.0, trouble="paused"), Cause.PAUSE)

    extension.closed()

    assert ("resume" in outlook.bound()) == helps


def test_a_look_that_others_interrupt_is_no_long_one(monkeypatch):
    """What a look costs decides when the next one is; on a busy core it may take long and cost
    nothing.
    """
    counters, seconds = Counter(), [0.0]
    extension = Bound(SimpleNamespace())
    extension._scheduler = SimpleNamespace(over=False, end=SimpleNamespace(begun=False))
    extension._crawl = SimpleNamespace(parts=SimpleNamespace(counters=counters))

    def look():
        seconds[0] += 1.0  # the process gets no time, in the middle of the look
        return BoundLook(seconds=1.0)

    monkeypatch.setattr(extension, "_look", look)
    monkeypatch.setattr(
        bound, "time", SimpleNamespace(monotonic=lambda: seconds[0], thread_time=time.thread_time)
    )
    extension.look()
    extension.look()

    assert sum(counters.values()) == 2


@pytest.mark.parametrize(("begun", "looks"), [(False, 1), (True, 0)])
def test_the_end_is_bound_by_nothing(begun, looks, monkeypatch):
    """While a crawl closes, which a slow disk may make minutes, it fetches nothing, and no cause of
    that is counted.
    """
    seen = []
    monkeypatch.setattr(Bound, "_look", lambda _: seen.append(1) or BoundLook(seconds=1.0))
    extension = Bound(SimpleNamespace())
    extension._scheduler = SimpleNamespace(over=False, end=SimpleNamespace(begun=begun))
    extension._crawl = SimpleNamespace(parts=SimpleNamespace(counters=Counter()))

    extension.look()

    assert len(seen) == looks
