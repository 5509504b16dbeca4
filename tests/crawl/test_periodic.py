"""Calls at intervals, however exact the loop's timers are."""

import asyncio
import logging

import pytest

from webcrawl.crawl.periodic import Loop


class Timers:
    """A loop's timers with a clock of their own; each fires `early` seconds before its time."""

    def __init__(self, early=0.0):
        self.now, self.early, self.timers = 0.0, early, []

    def time(self):
        return self.now

    def call_at(self, when, call):
        self.timers.append((when, call))
        return self

    def cancel(self):
        self.timers.clear()

    def go(self, until):
        while self.timers and self.timers[0][0] - self.early <= until:
            when, call = self.timers.pop(0)
            self.now = max(self.now, when - self.early)
            call()


@pytest.fixture(name="timers")
def _timers(monkeypatch):
    timers = Timers()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: timers)
    return timers


@pytest.mark.parametrize("early", [0.0, 0.0009])
def test_once_in_each_interval(timers, early):
    """A timer that comes early, as uvloop's do, does not lead to a second call for the same time."""
    timers.early, calls = early, []
    Loop(lambda: calls.append(timers.now)).start(10.0, now=False)

    timers.go(100.5)

    assert [round(at) for at in calls] == [*range(10, 101, 10)]


def test_at_once(timers):
    """The first call may be at the start."""
    calls = []
    Loop(lambda: calls.append(timers.now)).start(10.0)
    timers.go(10.0)
    assert calls == [0.0, 10.0]


def test_what_was_missed(timers):
    """A process that was busy for long calls once for all that was due."""
    calls = []
    Loop(lambda: calls.append(timers.now)).start(10.0, now=False)
    timers.now = 95.0
    timers.go(120.0)
    assert calls == [95.0, 105.0, 115.0]


def test_stopped(timers):
    """Nothing is called any more; a loop may be stopped before it has started, and twice."""
    calls = []
    loop = Loop(lambda: calls.append(timers.now))
    loop.stop()
    loop.start(10.0, now=False)
    timers.go(10.0)
    loop.stop()
    loop.stop()
    timers.go(100.0)
    assert calls == [10.0]


def test_a_call_that_raises(timers, caplog):
    """It is logged with its traceback, and not made again."""
    caplog.set_level(logging.ERROR)
    Loop(lambda: 1 / 0).start(10.0, now=False)
    timers.go(100.0)
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError]
