"""Calls at intervals, by the event loop's own clock; and wakes the engine when something is due.

Scrapy's looping call reckons from the time when it is woken how long it has to sleep. A timer of uvloop may wake it up
to a millisecond early, and then it sleeps for what is left of that millisecond, and calls twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from scrapy.utils.asyncio import call_later

from webcrawl.adapter.fastpath.engine import Engine
from webcrawl.crawl.driver import Driver

logger = logging.getLogger(__name__)


class Loop:
    """Calls a function every so many seconds, until it is stopped or the function raises.

    Whatever was due while the process was busy is called once.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._timer: asyncio.TimerHandle | None = None
        self._seconds = self._due = 0.0

    def start(self, seconds: float, *, now: bool = True) -> None:
        """`now`: the first call is at once."""
        loop = asyncio.get_running_loop()
        self._seconds, self._due = seconds, loop.time()
        self._wait(loop)
        if now:
            self._made()

    def stop(self) -> None:
        """It may be stopped before it has started, and twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sets the timer for the next time, reckoned from the one before and not from when that came."""
        self._due += self._seconds
        if self._due <= loop.time():
            self._due = loop.time() + self._seconds
        self._timer = loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self._wait(asyncio.get_running_loop())
        self._made()

    def _made(self) -> None:
        try:
            self._call()
        except Exception:
            logger.exception("%r is not called any more", self._call)
            self.stop()


class Waking:
    """Wakes whoever takes URLs from the frontier; one timer, for the earliest due time."""

    def __init__(self) -> None:
        self.engine: Engine | None = None  # until the crawl is open
        self.driver: Driver | None = None  # the crawl's own loop, where it runs
        self._timer: Any = None
        self._timer_at = float("inf")

    def now(self) -> None:
        """Has it ask at once."""
        if self.driver is not None:
            self.driver.wake()
        else:
            self.engine_now()

    def engine_now(self) -> None:
        """Has Scrapy's engine ask, which has the rest where the crawl's own loop runs."""
        if self.engine is not None:
            self.engine.wake()

    def at(self, ready: float | None, now: float) -> None:
        """Has it ask when something is ready; a timer that rings before that stays."""
        if ready is None or (self._timer is not None and now < self._timer_at <= ready):
            return
        self.stop()
        self._timer_at = ready
        self._timer = call_later(max(ready - now, 0.0), self._ring)

    def stop(self) -> None:
        """Leaves it to itself."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        self.now()


def from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """A merge may end after the loop was closed; then there is nothing to wake."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call)
