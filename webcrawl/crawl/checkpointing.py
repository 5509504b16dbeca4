"""Checkpoints between two pages, and the failure after which nothing more is kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from webcrawl.base.errors import lack
from webcrawl.crawl.barrier import Barrier, CheckpointWaiters
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.exhaustion_watch import ExhaustionWatch
from webcrawl.crawl.failures import as_failure
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.stats_file import STORE_FAILED

logger = logging.getLogger(__name__)

# Of the work ahead of a checkpoint, in seconds: what is done in one turn of the event loop, the pause after it, and how
# long a slice takes at most that only looked whether a thread has ended.
TOGETHER, PAUSE, NOTHING = 0.004, 0.001, 0.000_05


class Checkpointing:
    """Takes the checkpoints of the crawl that is open. Others wait for one, or hear of each."""

    _crawl: Crawl
    _barrier: Barrier
    _may_be_stuck: Callable[[], bool]

    def __init__(self, end: Callable[[str], object]) -> None:
        """`end` ends the crawl, for the reason that it is given."""
        self._end = end
        self.failed: StoreError | None = None
        self.over = True  # until it is opened, and once the last checkpoint was taken: what is done now is lost
        self.waiters = CheckpointWaiters()
        self.taken: list[Callable[[], object]] = []  # called with each
        self.soon: Callable[[], None] | None = None  # has one taken as soon as possible
        self._saving = asyncio.Lock()
        self.saved = "of this run"
        self.kept: dict[str, Any] = {}  # what stats.json says of the last one; kept here, for the folder may be gone
        self._lacks: ExhaustionWatch | None = None

    def open(self, crawl: Crawl, barrier: Barrier, may_be_stuck: Callable[[], bool]) -> None:
        """`may_be_stuck`: pages may wait for a page that is away."""
        self._crawl, self._barrier, self._may_be_stuck, self.over = crawl, barrier, may_be_stuck, False
        crawl.begin()

    def watch(self) -> None:
        """From now on what no part of the crawl can know of ends it, too: a lack of memory or threads."""
        self._lacks = ExhaustionWatch(self.fail, asyncio.get_running_loop())
        self._lacks.watch()

    def unwatch(self) -> None:
        """The crawl is closed."""
        self.over = True
        if self._lacks is not None:
            self._lacks.unwatch()

    async def checkpoint(self, *, last: bool = False) -> None:
        """Writes ahead in slices, then commits between two pages, in one turn of the event loop."""
        crawl, barrier = self._crawl, self._barrier
        async with self._saving:
            if self.over:  # the last checkpoint was taken while this one waited
                return
            if self.failed is not None:  # nothing more is kept
                raise self.failed
            await by_turns(crawl.parts.db.prepare(once=last))
            try:
                await barrier.shut(self._may_be_stuck)
                crawl.parts.halfway.leave_out(trip.link.url for trip in barrier.out if trip.link is not None)
                if self.failed is not None:  # part of a page is not on disk, so it must not be booked
                    raise self.failed
                crawl.checkpoint(last=last)
                self.over = last
                self.waiters.tell()
                self.saved = f"after the checkpoint of {time.strftime('%H:%M:%S')}"
                for hear in self.taken:
                    hear()
                await by_turns(crawl.parts.db.go_on())
            finally:
                barrier.open()

    def fail(self, error: Exception) -> None:
        """Ends the crawl: the state on disk stays that of the last checkpoint.

        Any other exception is a bug that left a change half done, which must not be committed.
        """
        if self.failed is None:
            if self._lacks is not None and lack(error):
                self._lacks.give_way()  # now, for there may be no memory for the line
            taken = self._crawl.parts.db.presence.taken_away()
            if taken is not None:  # whatever failed, failed because of that
                error = StoreError(f"{taken}: nothing {self.saved} is kept")
            self.failed, told = as_failure(error, self.saved)
            self.waiters.tell(self.failed)
            logger.critical("%s", self.failed, exc_info=None if told else error)
            self._end(STORE_FAILED)


async def by_turns(slices: Iterator[float | None], clock: Callable[[], float] = time.perf_counter) -> None:
    """Runs work in slices, a few in one turn of the event loop: in a turn each, a second of work took half a minute.

    After one that did nothing there is a pause, because without any the loop would spin while it waits for the disk. A
    slice may say how long its pause is, in seconds.
    """
    begun = now = clock()
    for pause in slices:
        before, now = now, clock()
        if pause is None and now - before > NOTHING and now - begun < TOGETHER:
            continue
        await asyncio.sleep(PAUSE if pause is None else pause)
        begun = now = clock()
