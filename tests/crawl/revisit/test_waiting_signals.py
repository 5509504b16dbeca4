"""Signals that wait for their pages to rest, or for what signals may have: bounded, in turns, none twice."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from webcrawl.crawl.revisit import waiting_signals as module
from webcrawl.crawl.revisit.waiting_signals import EACH, Signal, Waiting

NOW = 1.8e9


def signal(url, until=NOW):
    return Signal(url, "L", "http://h/map", until)


def popped(waiting, now=NOW):
    found = []
    while (one := waiting.turn(now)) is not None:
        waiting.drop(one.url)
        found.append(one.url)
    return found


def test_the_oldest_of_a_host_goes_first():
    """A page that is announced again keeps its place, and is given once."""
    waiting = Waiting()
    for url, until in (("http://a/1", NOW - 2), ("http://a/2", NOW - 1), ("http://a/1", NOW), ("http://a/3", NOW)):
        assert waiting.add(signal(url, until))
    assert popped(waiting) == ["http://a/1", "http://a/2", "http://a/3"]
    assert len(waiting) == 0


def test_hosts_take_turns():
    """A host with very many signals does not keep those of another waiting."""
    waiting = Waiting()
    for number in range(1000):
        waiting.add(signal(f"http://a/{number}", NOW - 2000 + number))
    waiting.add(signal("http://b/1"))
    assert popped(waiting)[:3] == ["http://a/0", "http://b/1", "http://a/1"]


def test_a_turn_that_is_not_used():
    """The signal stays, and other hosts come first."""
    waiting = Waiting()
    for url in ("http://a/1", "http://a/2", "http://b/1"):
        waiting.add(signal(url))
    assert [waiting.turn(NOW).url for _ in range(4)] == ["http://a/1", "http://b/1"] * 2
    assert len(waiting) == 3


def test_a_page_rests():
    """It is not given before, and keeps nobody waiting."""
    waiting = Waiting()
    waiting.add(signal("http://a/1", NOW + 60))
    waiting.add(signal("http://a/2", NOW))
    assert popped(waiting) == ["http://a/2"]
    assert waiting.next(NOW) == NOW + 60
    assert popped(waiting, NOW + 59) == []
    assert popped(waiting, NOW + 60) == ["http://a/1"]
    assert waiting.next(NOW + 60) is None


def test_there_is_room_for_so_much(monkeypatch):
    """What is beyond is refused and counted; no host has all of it."""
    monkeypatch.setattr(module, "MEMORY", 40 * (EACH + 20))
    counters = Counter()
    waiting = Waiting(counters=counters)
    added = {host: sum(waiting.add(signal(f"http://{host}/{n:010}")) for n in range(100)) for host in "abcdef"}
    assert added == {**dict.fromkeys("abcd", 10), "e": 0, "f": 0}
    assert counters == {"signals/crowded_out": 560}
    assert waiting.room("a") == waiting.room("e") == 0
    waiting.drop("http://a/0000000003")
    assert waiting.add(signal("http://e/0000000001"))
    popped(waiting)
    assert waiting.room("a") == waiting.room("new") > 5
    assert waiting._bytes == 0
    assert not waiting._held


@examples(100)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "drop", "pop", "save", "time"]),
            st.integers(0, 9),
            st.sampled_from([0, 5, 60]),
        ),
        max_size=60,
    )
)
def test_none_is_lost_or_doubled(steps):
    """Whatever is added, dropped and given, and whenever it is saved: each signal that waits is given once."""
    waiting, twin, now = Waiting(), {}, NOW
    for what, number, seconds in steps:
        url = f"http://h{number % 3}/{number}"
        if what == "add":
            waiting.add(signal(url, now + seconds))
            twin.setdefault(url, now + seconds)
        elif what == "drop":
            waiting.drop(url)
            twin.pop(url, None)
        elif what == "pop":
            one = waiting.turn(now)
            if one is None:
                assert all(until > now for until in twin.values())
            else:
                waiting.drop(one.url)
                assert twin.pop(one.url) == one.until <= now
        elif what == "save":
            waiting = Waiting(waiting.save())
        else:
            now += seconds
        assert len(waiting) == len(twin)
        ready = waiting.next(now)
        assert ready == (max(now, min(twin.values())) if twin else None)
    assert sorted(popped(waiting, now + 60)) == sorted(twin)
