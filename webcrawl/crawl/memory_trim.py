"""Gives memory that malloc holds without need back to the system, by `malloc_trim(0)`.

glibc keeps free chunks between chunks in use, 10 to 50 MiB of 120 in a long crawl, and returns only
what is free at the heap's end. Settings of malloc hold less too, at 15 to 70 times the page faults.
A trim takes 1 to 7 ms of the event loop. In a thread it takes longer, and the loop waits for
malloc's lock.
"""

from __future__ import annotations

import atexit
import gc
import logging
from collections.abc import Callable

from webcrawl.crawl.periodic import Loop

logger = logging.getLogger(__name__)

MIB = 1 << 20
WORTHWHILE_GAIN = 4 * MIB  # a trim that gives back less was in vain
RAREST = 16  # intervals between two trims at most


class TrimPace:
    """The schedule: a trim at every interval while that pays, else after twice as many."""

    def __init__(self) -> None:
        self._every = 1  # intervals between two trims
        self._left = 1  # intervals until the next

    def due(self) -> bool:
        """Count an interval; return whether a trim is due."""
        self._left -= 1
        return self._left <= 0

    def gave(self, size: int) -> None:
        """Set when the next trim is due, by the bytes that the last one gave back."""
        self._every = 1 if size >= WORTHWHILE_GAIN else min(2 * self._every, RAREST)
        self._left = self._every


class Trim:
    """Trims once per CHECKPOINT_INTERVAL: 1 to 7 ms on the event loop, but 12 to 70 in a thread."""

    def __init__(
        self, interval: float, trim: Callable[[], None], resident: Callable[[], int]
    ) -> None:
        """`interval`: in seconds. `resident` returns the bytes that the process has in memory."""
        self._interval = interval
        self._trim = trim
        self._resident = resident
        self._pace = TrimPace()
        self._loop = Loop(self.look)

    def opened(self) -> None:
        self._loop.start(self._interval, now=False)

    def closed(self) -> None:
        self._loop.stop()

    def look(self) -> None:
        """Give free memory back to the system when due; what that gains sets the next interval."""
        if not self._pace.due():
            return
        try:
            before = self._resident()
            self._trim()
            given = before - self._resident()
        except OSError:  # no descriptor to look with: the next interval tries again
            return
        self._pace.gave(given)
        if given > 0:  # else memory has grown meanwhile
            logger.debug("%.1f MiB given back", given / MIB)


# With these, a request among 256 in flight took 125 us in place of 230, and 169 in place of 513
# among 2,000 (Scrapy's engine, freeze included).
THRESHOLDS = 50_000, 20, 50


class Garbage:
    """Excludes objects that exist at the start; collects cycles every few thousand pages.

    With Python's defaults collecting takes as long as all else that Scrapy does for a request.
    """

    def __init__(self) -> None:
        self._before = gc.get_threshold()

    def opened(self) -> None:
        """Take what exists by now out of all collections, and have these come less often."""
        gc.freeze()
        atexit.register(gc.freeze)  # a last search for cycles at exit would take 0.1 s
        gc.set_threshold(*THRESHOLDS)

    def closed(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._before)
