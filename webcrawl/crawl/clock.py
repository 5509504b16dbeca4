"""The crawl's own time, which no setting of the machine's clock changes.

Ready times, retries and robots.txt rules are kept on disk as seconds since 1970. If these were read
off the machine's clock, a step back would stop the crawl until the clock had caught up, and a step
forward would end every wait at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgpack

from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.jobdir.meta_row import CLOCK

logger = logging.getLogger(__name__)

# Seconds by which the machine's clock must jump to be reported. The steady clock stands while the
# machine sleeps. How long the crawl did not run before a step back, nobody can tell.
STEP = 60.0
FORWARD = (
    "the machine's clock jumped forward by %.0f seconds, or the machine slept; "
    "this changes no host's wait"
)
CLOCK_JUMPED_BACK = (
    "the machine's clock jumped back by %.0f seconds or more; this changes no host's wait"
)


class CrawlClock(Part):
    """Seconds since 1970 by the clock at the crawl's begin; from then on time passes evenly.

    It never goes back, in all runs of the crawl.

    Between two runs the machine's clock says how much time has passed, but never less than none.
    """

    def __init__(
        self,
        db: CrawlDB,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wall` tells the time of day, which may be set; `steady` never goes back."""
        self._db = db
        self._wall = wall
        self._steady = steady
        wall_now = wall()
        saved = db.get(CLOCK)
        # the crawl's time at the last checkpoint, and how far the machine's clock was ahead of it
        last_time, ahead = msgpack.unpackb(saved) if saved is not None else (wall_now, 0.0)
        # A former run may have seen the machine's clock set: it stays so far ahead of the crawl's.
        # Time that has passed cannot be told from a clock that was set forward between two runs.
        self._ahead: float = ahead  # seconds by which the machine's clock is ahead; may be negative
        # the crawl's time when `steady` showed 0
        self._start: float = max(wall_now - ahead, last_time) - steady()
        self()  # a step since the last run is reported
        db.join(self)

    def __call__(self) -> float:
        """Return the crawl's time now; log a step of the machine's clock since the last call."""
        now = self._start + self._steady()
        before = self._ahead
        self._ahead = self._wall() - now
        step = self._ahead - before
        if abs(step) >= STEP:
            logger.warning(FORWARD if step > 0 else CLOCK_JUMPED_BACK, abs(step))
        return now

    def at(self, steady: float) -> float:
        """Return the crawl's time at which `time.monotonic` showed `steady`."""
        return self._start + steady

    def wall(self, at: float) -> float:
        """Return what the machine's clock showed at this time of the crawl, unless it was set since."""
        return at + self._ahead

    # -- the checkpoint

    def save(self) -> None:
        self._db.set(CLOCK, msgpack.packb((self(), self._ahead)))
