"""Takes checkpoints between two pages, and keeps nothing more after a failure.

When the process is killed, what it has done since the last checkpoint is undone at the next start.
SQLite rolls back to that checkpoint (store/crawldb.py), and outputs are truncated to the lengths
that it noted (store/outputs.py). So a page that was fetched since then is queued again, and its
host first waits a turn, because it may just have been requested (open_frontier.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

import msgpack

from webcrawl.base.errors import lack
from webcrawl.base.loading import path_of
from webcrawl.base.readable import count
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.barrier import Barrier, CheckpointWaiters
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.exhaustion_watch import ExhaustionWatch
from webcrawl.crawl.failures import as_failure
from webcrawl.crawl.outputs.output_protocol import TakesPart, hooks_of, takes_part
from webcrawl.crawl.panics import tamed
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.stats_file import STORE_FAILED

logger = logging.getLogger(__name__)

# Seconds of the work ahead of a checkpoint:
SECONDS_PER_TURN = 0.004  # so much of it is done in one turn of the event loop,
PAUSE = 0.001  # and then there is a pause
MAX_IDLE_SLICE = 0.000_05  # a slice that took no longer only looked whether a thread has ended


class Checkpointing:
    """Takes the checkpoints of the crawl that is open. Others wait for one, or hear of each."""

    _crawl: Crawl
    _barrier: Barrier
    _may_be_stuck: Callable[[], bool]

    def __init__(self, end: Callable[[str], object]) -> None:
        """`end` ends the crawl, for the reason that it is given."""
        self._end = end
        self.failed: StoreError | None = None  # the error after which nothing more is kept
        # True until the crawl is opened, and once the last checkpoint was taken: what is done then
        # is lost
        self.saves_no_more = True
        self.waiters = CheckpointWaiters()
        # called after each COMMIT, in the same turn of the event loop
        self.taken: list[Callable[[], object]] = []
        self.seconds = 0.0  # that the last regular one took
        self.soon: Callable[[], None] | None = None  # has one taken as soon as possible
        self._saving = asyncio.Lock()
        # what an error since then has lost, in words: "nothing {saved} was kept"
        self.saved = "of this run"
        # what stats.json says of the last one; kept here, for the folder may be gone
        self.kept: dict[str, Any] = {}
        self._lacks: ExhaustionWatch | None = None  # from `watch` on

    def open(self, crawl: Crawl, barrier: Barrier, may_be_stuck: Callable[[], bool]) -> None:
        """`may_be_stuck`: pages may wait for a page that is away."""
        self._crawl = crawl
        self._barrier = barrier
        self._may_be_stuck = may_be_stuck
        self.saves_no_more = False
        crawl.begin()

    def watch(self) -> None:
        """End the crawl, from now on, if memory or threads run out and no part of it notices."""
        self._lacks = ExhaustionWatch(self.fail, asyncio.get_running_loop())
        self._lacks.watch()

    def unwatch(self) -> None:
        """Stop watching: the crawl is closed."""
        self.saves_no_more = True
        if self._lacks is not None:
            self._lacks.unwatch()

    async def checkpoint(self, *, last: bool = False) -> None:
        """Write ahead in slices, then commit between two pages, in one turn of the event loop.

        Do nothing once the last checkpoint was taken. Raise what failed before, or what fails now:
        then nothing is committed, and the caller has the crawl end.
        """
        crawl, barrier = self._crawl, self._barrier
        async with self._saving:
            if self.saves_no_more:  # the last checkpoint was taken while this one waited
                return
            if self.failed is not None:  # nothing more is kept
                raise self.failed
            # Before the barrier is shut: pages go on between the slices, and only what changes
            # again is left for the turn of the loop that commits.
            await by_turns(crawl.parts.db.prepare(once=last))
            try:
                await barrier.shut(self._may_be_stuck)
                crawl.parts.halfway.leave_out(
                    trip.link.url for trip in barrier.out if trip.link is not None
                )
                # Again, for it may have failed meanwhile: part of a page is then not on disk, so it
                # must not be booked.
                if self.failed is not None:
                    raise self.failed
                crawl.checkpoint(last=last)
                self.saves_no_more = last
                self.waiters.tell()
                self.saved = f"after the checkpoint of {time.strftime('%H:%M:%S')}"
                for hear in self.taken:
                    hear()
                # SQLite can restart its log only between two transactions: if the log is too long,
                # it is copied back here, by a thread, before the next one begins.
                await by_turns(crawl.parts.db.go_on())
            finally:
                barrier.open()

    def fail(self, error: Exception) -> None:
        """End the crawl because of an error: the state on disk stays that of the last checkpoint.

        Only the first error counts. An error that is no failure of the store is a bug that may have
        left a change half done, which must not be committed.
        """
        if self.failed is not None:
            return
        if self._lacks is not None and lack(error):
            self._lacks.give_way()  # first: without its reserve the log line may find no memory
        taken = self._crawl.parts.db.presence.taken_away()
        if taken is not None:  # whatever failed, failed because of that
            error = StoreError(f"{taken}: nothing {self.saved} was kept")
        self.failed, is_told = as_failure(error, self.saved)
        self.waiters.tell(self.failed)
        logger.critical("%s", self.failed, exc_info=None if is_told else error)
        self._end(STORE_FAILED)


async def by_turns(
    slices: Iterator[float | None], clock: Callable[[], float] = time.perf_counter
) -> None:
    """Run work in slices, a few in one turn of the event loop.

    With one slice per turn, a second of work took half a minute. After a slice that did nothing
    there is a pause, because without any the loop would spin while it waits for the disk. A slice
    may yield how long its pause is, in seconds.
    """
    turn_began = slice_ended = clock()
    for pause in slices:
        slice_began = slice_ended
        slice_ended = clock()
        has_worked = slice_ended - slice_began > MAX_IDLE_SLICE
        has_time = slice_ended - turn_began < SECONDS_PER_TURN
        if pause is None and has_worked and has_time:
            continue
        await asyncio.sleep(PAUSE if pause is None else pause)
        turn_began = slice_ended = clock()


# seconds until the first one: if the crawl is killed soon after its start, little is done twice
FIRST_INTERVAL = 5.0


class RegularCheckpoints:
    """Takes a checkpoint every so many seconds, and one whenever it is asked.

    The last one of the crawl is taken by whoever closes the crawl.
    """

    def __init__(self, keeping: Checkpointing, interval: float) -> None:
        self._keeping = keeping
        self._interval = interval
        self._is_wanted_now = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, crawl: Crawl, pipelines: Iterable[object]) -> None:
        """Begin. `pipelines`: in their order; those with hooks are restored before the first page."""
        self._keeping.soon = self.request_checkpoint
        crawl.parts.in_force.listen(["CHECKPOINT_INTERVAL"], self._change)
        try:
            Positions(crawl.parts.db, pipelines)
        except Exception as error:  # noqa: BLE001 - whatever it is, no checkpoint could ever be taken
            self._keeping.fail(error)
        self._task = asyncio.get_running_loop().create_task(self._run(crawl))

    def request_checkpoint(self) -> None:
        """Have a checkpoint taken as soon as possible."""
        self._is_wanted_now.set()

    def end(self) -> None:
        """Take no more checkpoints."""
        if self._task is not None:
            self._task.cancel()

    def _change(self, values: CheckedSettings) -> None:
        """Take checkpoints at another interval, and one now, which ends a longer interval."""
        self._interval = values["CHECKPOINT_INTERVAL"]
        if self._task is not None:
            self._is_wanted_now.set()

    async def _run(self, crawl: Crawl) -> None:
        """Take a checkpoint after each interval, or at once if asked to, until one fails."""
        wait = min(FIRST_INTERVAL, self._interval)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_wanted_now.wait(), wait)
            self._is_wanted_now.clear()
            wait = self._interval
            begun = time.perf_counter()
            try:
                await self._keeping.checkpoint()
            except Exception as error:  # noqa: BLE001 - whatever it is, this checkpoint was not made
                self._keeping.fail(error)
                return
            self._keeping.seconds = time.perf_counter() - begun
            _tell(self._keeping.seconds, crawl.stats())


def _tell(seconds: float, figures: Mapping[str, float]) -> None:
    pages = count(int(figures["pages"]), "page")
    queued = count(int(figures["queued"]), "URL")
    hosts = count(int(figures["hosts"]), "host")
    logger.info(
        "checkpoint in %.2f s: %s, %s queued, %s in rotation", seconds, pages, queued, hosts
    )


PREFIX = "pipeline."  # before a pipeline's dotted path, in the table meta


class Positions(Part):
    """Restores every pipeline once, then saves the position of each with every checkpoint.

    A hook that raises ends the crawl: without a checkpoint more and more would have to be done
    again, and with one that lacks a position the pipeline would have lost pages.
    """

    def __init__(self, db: CrawlDB, pipelines: Iterable[object]) -> None:
        """Hand each pipeline with the hooks the position that it had at the last checkpoint.

        Raise if a pipeline's `restore` does. From then on each checkpoint asks for their positions.
        """
        self._db = db
        self._pipelines = {
            state_name(type(pipeline)): pipeline for pipeline in pipelines if _takes_part(pipeline)
        }
        for name, pipeline in self._pipelines.items():
            data = db.get(PREFIX + name)
            position = None if data is None else msgpack.unpackb(data, strict_map_key=False)
            try:
                pipeline.restore(position)
            except BaseException as error:
                raise _failed(name, "restore", tamed(error)) from error
        if self._pipelines:
            db.join(self, first=True)  # before the outputs: a hook may write to one

    def save(self) -> None:
        for name, pipeline in self._pipelines.items():
            try:
                data = msgpack.packb(pipeline.checkpoint())
            except BaseException as error:
                raise _failed(name, "checkpoint", tamed(error)) from error
            self._db.set(PREFIX + name, data)


def _takes_part(pipeline: object) -> TypeGuard[TakesPart]:
    """Return whether a pipeline has both hooks of a checkpoint; warn if it has only one."""
    if takes_part(pipeline):
        return True
    # The pipeline's author wanted a place in checkpoints, and would miss it only after a crash.
    for hook in hooks_of(pipeline):
        logger.warning(
            "%s has only the hook %s, so it takes no part in checkpoints: they need both "
            "`checkpoint` and `restore`",
            path_of(type(pipeline)),
            hook,
        )
    return False


def state_name(pipeline_class: type) -> str:
    """Return the name under which the state keeps what pipelines of this class have saved."""
    return str(getattr(pipeline_class, "state_name", "")) or path_of(pipeline_class)


def _failed(name: str, hook: str, error: Exception) -> StoreError:
    """Log an error of a pipeline's hook, and return the error that ends the crawl."""
    logger.error("%s.%s failed", name, hook, exc_info=error)
    return StoreError(f"{name}.{hook} failed: {error!r}")
