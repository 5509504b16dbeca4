"""Calls at intervals, and at the earliest of several times, by the event loop's own clock.

Scrapy's looping call reckons from the time when it is woken how long it has to sleep. A timer of
uvloop may wake it up to a millisecond early, and then it sleeps for what is left of that
millisecond, and calls twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Loop:
    """Calls a function every so many seconds, until it is stopped or the function raises.

    Whatever was due while the process was busy is called once.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._timer: asyncio.TimerHandle | None = None
        self._seconds = 0.0  # between two calls
        self._due = 0.0  # time of the next call, by the event loop's clock

    def start(self, seconds: float, *, now: bool = True) -> None:
        """Call from now on every so many seconds. `now`: the first call is at once."""
        loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._due = loop.time()
        self._wait(loop)
        if now:
            self._call_or_stop()

    def stop(self) -> None:
        """Call no more. It may be stopped before it has started, and twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the timer for the next time, counted from the last due time, not the last call."""
        self._due += self._seconds
        # The process was busy for longer than an interval: what was missed is not made up for.
        if self._due <= loop.time():
            self._due = loop.time() + self._seconds
        self._timer = loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        # First: the function may stop the loop, and then there must be a timer to cancel.
        self._wait(asyncio.get_running_loop())
        self._call_or_stop()

    def _call_or_stop(self) -> None:
        """Call the function; log an error, after which it is no longer called."""
        try:
            self._call()
        except Exception:
            logger.exception("%r failed, and is no longer called", self._call)
            self.stop()


class DueTimer:
    """Calls a function at the earliest time that it is given."""

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")  # when it rings, by the crawl's clock

    def at(self, ready: float | None, now: float) -> None:
        """Have the timer ring when something is ready, unless it rings before.

        Times are the crawl's.
        """
        if ready is None or (self._timer is not None and now < self._timer_at <= ready):
            return
        self.stop()
        self._timer_at = ready
        self._timer = asyncio.get_running_loop().call_later(max(ready - now, 0.0), self._rung)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _rung(self) -> None:
        self._timer = None
        self._ring()


def from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call from a thread; a merge may end after the loop was closed, with nothing to wake."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call)
