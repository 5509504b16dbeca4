"""Makes the engine ask again when something is due: by itself it asks when a request ends, or every 5 seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from scrapy.utils.asyncio import call_later

from webcrawl.adapter.fastpath.engine import Engine


class Waking:
    """One timer, for the earliest due time."""

    def __init__(self) -> None:
        self.engine: Engine | None = None  # until the crawl is open
        self._timer: Any = None
        self._timer_at = float("inf")

    def now(self) -> None:
        """Has it ask at once."""
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
