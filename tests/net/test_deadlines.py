"""One timer expires all late requests, each at its own time, and those whose answers are too slow."""

import asyncio

import pytest

from webcrawl.net.connection import AGAIN, Deadlines
from webcrawl.net.protocols import Bounds
from webcrawl.net.running_clock import BEAT, RunningClock
from webcrawl.net.shortage import LATE


class Question:
    """Stands in for a connection; records when it expires."""

    def __init__(self, name, ended):
        self.name, self.ended, self.received, self.held = name, ended, 0, 0.0

    def expire(self):
        self.ended.append(self.name)


class Turn:
    """Stands in for the loop: its time passes only when it is told to, and it has one timer."""

    def __init__(self, monkeypatch):
        self.now, self.timer = 1000.0, None
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: self)

    def time(self):
        return self.now

    def call_at(self, when, call):
        assert self.timer is None
        self.timer = (when, call)
        return self

    def cancel(self):
        self.timer = None

    def until(self, now):
        """Lets the time pass, timer and all."""
        while self.timer is not None and self.timer[0] <= now:
            when, call = self.timer
            self.now, self.timer = max(self.now, when), None
            call()
        self.now = now


@pytest.fixture(name="turn")
def _turn(monkeypatch):
    return Turn(monkeypatch)


def ended(turn, waits, removed=(), last=0.03):
    """The names of the expired requests, in order, after `last` seconds."""
    found, deadlines, now = [], Deadlines(Bounds(), turn.time), turn.now
    questions = {name: Question(name, found) for name in [*waits, "last"]}
    for name, wait in {**waits, "last": last}.items():
        deadlines.add(questions[name], now + wait)
    for name in removed:
        deadlines.remove(questions[name])
    turn.until(now + last)
    return found


class TestDeadlines:
    @pytest.mark.parametrize("waits", [{"a": 0.01, "b": 0.02}, {"b": 0.02, "a": 0.01}])
    def test_the_earliest_ends_first(self, turn, waits):
        """Requests expire in the order of their deadlines, in whatever order they were added."""
        assert ended(turn, waits) == ["a", "b", "last"]

    def test_what_is_answered_does_not_end(self, turn):
        """A removed request does not expire, even if the timer was set for it."""
        assert ended(turn, {"a": 0.01, "b": 0.02}, removed=["a"]) == ["b", "last"]

    def test_a_deadline_may_have_passed(self, turn):
        """A request added after its deadline expires in the loop's next turn."""
        assert ended(turn, {"a": -1.0}) == ["a", "last"]

    def test_those_of_one_moment_end_together(self, turn):
        """All requests of one deadline expire together, and later ones still expire in time."""
        assert ended(turn, {"a": 0.01, "b": 0.01, "c": 0.01}) == ["a", "b", "c", "last"]

    def test_nothing_ends_after_close(self, turn):
        """After `close` no request expires."""
        found, deadlines = [], Deadlines(Bounds(), turn.time)
        deadlines.add(Question("a", found), turn.now + 0.001)
        deadlines.close()
        turn.until(turn.now + 0.01)

        assert found == []


class TestPace:
    BOUNDS = Bounds(grace=10, rate=100)

    def ended_at(self, turn, pace, deadline=3600.0):
        """The second in which an answer ends to which so many bytes are added every half second."""
        ended, deadlines = [], Deadlines(self.BOUNDS, turn.time)
        question = Question("a", ended)
        deadlines.add(question, turn.now + deadline)
        for half in range(1, 2 * 3600):
            question.received += pace
            turn.until(1000 + half / 2)
            if ended:
                return half / 2
        return None

    def test_silence_ends_after_the_grace(self, turn):
        """An answer of which nothing comes ends when the grace is over."""
        assert self.ended_at(turn, 0) == 10

    def test_a_dripping_answer_ends_soon_after_the_grace(self, turn):
        """Each byte gives an answer only as much time as the least rate says."""
        assert 10 <= self.ended_at(turn, 5) <= 12

    def test_an_answer_at_the_least_rate_does_not_end(self, turn):
        """An answer that comes at the least rate on average ends at its deadline only."""
        assert self.ended_at(turn, 50, deadline=600) == 600

    def test_an_answer_somewhat_slower_ends_later(self, turn):
        """An answer at half the least rate has twice the grace."""
        assert 20 <= self.ended_at(turn, 25) <= 21

    def test_the_deadline_holds_within_the_grace(self, turn):
        """A deadline before the end of the grace ends the request."""
        assert self.ended_at(turn, 50, deadline=3) == 3

    def test_without_a_rate_only_the_deadline_counts(self, turn):
        """With a least rate of 0 a silent answer ends at its deadline."""
        ended, deadlines = [], Deadlines(Bounds(grace=10, rate=0), turn.time)
        deadlines.add(Question("a", ended), turn.now + 100)
        turn.until(1099.9)
        assert ended == []
        turn.until(1100)
        assert ended == ["a"]

    def test_nobody_is_judged_when_the_crawler_itself_was_late(self, turn):
        """After this process did not run for a while, what came meanwhile is read before a request is judged."""
        ended, deadlines = [], Deadlines(self.BOUNDS, turn.time)
        question = Question("a", ended)
        deadlines.add(question, turn.now + 3600)
        turn.now += 10 + 2 * LATE
        turn.until(turn.now)  # the timer of the tenth second is called only now
        assert ended == []
        question.received = 10_000
        turn.until(turn.now + AGAIN)

        assert ended == []


def test_a_deadline_leaves_out_the_time_in_which_the_process_did_not_run(turn):
    """A request has all of its seconds, however long the process was stopped meanwhile."""
    ended, clock = [], RunningClock(turn.time)
    clock.beat()
    deadlines = Deadlines(Bounds(), clock)
    deadlines.add(Question("a", ended), turn.now + 60)
    turn.until(turn.now + BEAT)
    clock.beat()
    turn.now += 154
    for _ in range(57):
        turn.until(turn.now + BEAT)
        clock.beat()
    assert ended == []

    turn.until(turn.now + BEAT)

    assert ended == ["a"]
