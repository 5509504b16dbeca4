"""The crawl's own loop. It knows no framework: its steps say how pages are processed.

Crawls with callbacks, middlewares or handlers of other projects run on Scrapy's engine instead
(adapter/driver_steps.py, OF_ENGINE).

The life of a URL:

    take      the frontier hands out a link whose host may be requested now; it travels on as a Trip
    fetch     in a task of its own, until the outcome is known. Then it enters the barrier, which keeps it back only
              while a checkpoint is taken
    visit     pages at hand are read together, one stage after the other, and their links are submitted
    process   each page goes through the processors; a page that has to wait there goes on in a task of its own
    finish    what the page writes is written, its URL is booked or put back, and it leaves the barrier

A failure, an answer that is to be requested again, and a fetch that the end of the crawl cancels
go from `fetch` straight to `finish`. What the crawl fetches for itself, a robots.txt or a probe, is
heard instead of visited, alone, because links may wait for it.

Pages are read together because a stage then finds its code and its tables in the processor's
caches, and because a page then needs no task, which saves 5 % of all CPU time
(docs/decisions/adapter-fastpath.md).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from typing import Any, Protocol

from webcrawl.content.page import Page
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.trip import PAGE, Trip

logger = logging.getLogger(__name__)

STARTING_TIME = 0.01  # seconds of a turn of the event loop for which fetches are begun
# While 100 million URLs were merged, 99 % of the event loop's turns took up to 72 ms with batches of
# 64 pages and 0.03 s, 38 ms with 24 and 0.02, and 25 ms with 16 and 0.01, at 3 to 6 % more CPU.
LARGEST_BATCH = 24  # pages that are visited in one turn: smaller batches cost more CPU per page
# Bytes of a batch, at which an ordinary page of 40 KB still goes with 23 others. A page of 250 KB may
# take 70 ms, for instance one of 20,000 links, and the time of a batch is known only afterwards: 24 of
# them would take 1.7 s in one turn.
LARGEST_BATCH_BYTES = 1 << 20
READING_TIME = 0.02  # seconds for a batch: after one that took longer the next is smaller
LOOK_INTERVAL = 1.0  # seconds: `look` does nothing if the last look was less than this ago

PageOrError = Iterable[Page] | Exception  # of one answer: its page, or why there is none


class Steps(Protocol):
    """The steps of the loop, and its questions to the program in which it runs."""

    def may_fetch(self) -> bool:
        """Return whether one more fetch may begin.

        Not if all slots are taken, if sockets or bandwidth lack, or if the program is paused.
        Whoever ends that calls `wake`.
        """

    def next_trip(self) -> Trip | None:
        """Return the next trip, or None if nothing may be fetched now.

        That is so if nothing is due, if the crawl is paused, or if the network is out and no host is
        to be tried. Whoever returns None sees to it that `wake` is called in time.
        """

    async def fetch(self, trip: Trip) -> bool:
        """Fetch it, and note the outcome in the trip. A download that fails raises nothing.

        Return whether there is an answer, which is visited unless the trip comes again.
        """

    def visit_own(self, trip: Trip) -> PageOrError:
        """Note what a robots.txt says, or what a probe for missing pages shows."""

    def visit(self, trips: Sequence[Trip]) -> list[PageOrError]:
        """Return the pages of these answers; their links are submitted."""

    async def process(self, trip: Trip, page_or_error: PageOrError) -> None:
        """Take what was made of an answer through the processors.

        It begins outside of any task: before its first wait there is no `asyncio.current_task`.
        """

    def finish(self, trip: Trip) -> None:
        """Book the URL, put it back to be tried again, or leave it to the next run.

        It leaves the barrier in any case. It is called once for each trip. An
        error ends the crawl, because it leaves unknown what has been booked.
        """

    def fail(self, error: Exception) -> None:
        """End the crawl because of this: the state on disk stays that of the last checkpoint."""

    def be_idle(self) -> None:
        """Hear that nothing of this loop is under way, and that `next_trip` returned None.

        The crawl may be over.
        """

    def give_up(self) -> None:
        """Hear that pages in the processors will not come back, before `forsake` ends them."""


class Driver:
    """Runs the steps for each URL. Nothing is fetched before the first `wake`.

    A trip is *ready* once its answer is in the barrier and waits to be visited. It is *in the
    processors* from its first wait there until it is finished.
    """

    def __init__(
        self,
        steps: Steps,
        barrier: Barrier,
        max_bytes_waiting: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`max_bytes_waiting`: of answers that are ready or in work; above it no fetch is begun."""
        self._steps = steps
        self._barrier = barrier
        self._max_bytes_waiting = max_bytes_waiting
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self.fetching: dict[Trip, asyncio.Task[None]] = {}
        self._ready: list[Trip] = []  # answers that nobody has begun to read
        # how many pages were visited in this turn, and are not yet in the processors
        self._visited_not_processed = 0
        self._in_processors: dict[Trip, tuple[asyncio.Task[None], Coroutine[Any, Any, None]]] = {}
        # Bytes of the answers that are ready or in the processors, and of all of them together. A
        # step may empty a body, so what was added is what is taken away again.
        self._bytes_of: dict[Trip, int] = {}
        self._bytes_waiting = 0
        self._batch_size = LARGEST_BATCH  # pages; `_visit_batch` chooses it by the time they took
        self._start_is_scheduled = False  # `_start_fetches` runs in the next turn of the event loop
        self._reading_is_scheduled = False  # `_visit_batch` does
        self._closed = False
        self._cancelled = False  # pages that wait are left to the next run
        # The last look stopped before all that was due was begun: room for it has to come first.
        self._more_may_be_due = False
        self._looked_at = float("-inf")  # when fetches were last looked for, in the loop's time
        # What `close` has returned: done when nothing is under way any more
        self._drained: asyncio.Future[None] | None = None
        barrier.watch(self)

    def __len__(self) -> int:
        """Return the number of pages that are ready: the barrier asks."""
        return len(self._ready)

    @property
    def busy(self) -> bool:
        """Return whether anything is under way."""
        return bool(
            self.fetching or self._ready or self._visited_not_processed or self._in_processors
        )

    # -- take and fetch

    def wake(self) -> None:
        """Look for what is due, once, in the next turn of the event loop."""
        if not self._start_is_scheduled:
            self._start_is_scheduled = True
            self._loop.call_soon(self._start_fetches)

    def look(self) -> None:
        """Look for what is due unless that was done lately; call it for what no event tells."""
        if self._loop.time() - self._looked_at > LOOK_INTERVAL:
            self.wake()

    def _start_fetches(self) -> None:
        """Start whatever is due. Once STARTING_TIME has passed, leave the rest to the next turn.

        If there is no room for one more fetch, the end of a fetch or of a page wakes it again.
        """
        self._start_is_scheduled = False
        PAGE.set(None)  # the event loop runs this with the page of whoever called `wake`
        self._looked_at = self._loop.time()
        started_at = self._clock()
        while not self._closed:
            has_no_room = self._bytes_waiting >= self._max_bytes_waiting
            self._more_may_be_due = has_no_room or not self._steps.may_fetch()
            if self._more_may_be_due:
                return
            try:
                trip = self._steps.next_trip()
            except BaseException as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
                self._steps.fail(tamed(error))
                return
            if trip is None:
                if not self.busy:
                    self._steps.be_idle()
                return
            self.fetching[trip] = self._loop.create_task(self._fetch(trip))
            if self._clock() - started_at > STARTING_TIME:
                self.wake()
                return

    async def _fetch(self, trip: Trip) -> None:
        """Fetch a trip, then wait until the barrier lets it through, and send it on its way.

        It runs in a task of its own. Whatever goes wrong in it, the trip is sent on. Nobody cancels it
        before its first step, which would leave that out: who ends a download knows it from
        `Running.begin`, which the fetch calls.
        """
        PAGE.set(trip)
        has_answer = False
        try:
            try:
                has_answer = await self._steps.fetch(trip)
            finally:
                await self._barrier.enter(trip)
        except BaseException as error:  # noqa: BLE001 - whatever it is, nothing must wait for this trip
            has_answer = False
            self._note_error(error, trip)
        finally:
            del self.fetching[trip]
            self._send_on(trip, has_answer=has_answer)
            # Now there may be room. Otherwise all that is due was begun, and this host is not due.
            if self._more_may_be_due:
                self.wake()

    def _send_on(self, trip: Trip, *, has_answer: bool) -> None:
        """Put an answer among the ready ones, hear what the crawl fetched for itself, or finish."""
        # Only the answer that ends a URL goes to pages and outputs.
        if not has_answer or trip.comes_again:
            self._finish(trip)
            return
        self._count_bytes(trip)
        if trip.link is not None and trip.link.is_own:
            self._hear_own(trip)
        else:
            self._ready.append(trip)
            self.go_on()

    def _count_bytes(self, trip: Trip) -> None:
        """Count the memory of an answer, until `_process_to_end` takes it away again."""
        length = self._bytes_of[trip] = len(trip.exchange.body) if trip.exchange is not None else 0
        self._bytes_waiting += length

    # -- visit and process

    def go_on(self) -> None:
        """Visit the pages that are ready in the next turn of the event loop.

        The barrier calls this, too, when it lets pages through again.
        """
        if not self._reading_is_scheduled:
            self._reading_is_scheduled = True
            self._loop.call_soon(self._visit_batch)

    def _visit_batch(self) -> None:
        """Visit one batch of ready pages, process each, and choose the next batch's size."""
        self._reading_is_scheduled = False
        PAGE.set(None)  # as in `_start_fetches`
        if not self._ready or not self._barrier.may_begin():
            return
        pages = self._pages_of_next_batch()
        trips = self._ready[:pages]
        self._ready = self._ready[pages:]
        if self._ready:
            self.go_on()
        started_at = self._clock()
        visited: list[tuple[Trip, PageOrError]]
        try:
            visited = list(zip(trips, self._steps.visit(trips), strict=True))
        except BaseException as error:  # noqa: BLE001 - a mistake in code: it is told for each of these pages
            failure = tamed(error)
            visited = [(trip, failure) for trip in trips]
        self._visited_not_processed = len(visited)
        for trip, page_or_error in visited:
            self._visited_not_processed -= 1
            self._begin_processing(trip, page_or_error)
        seconds = self._clock() - started_at
        # At this speed so many fit into READING_TIME. The size at most doubles: the next pages may
        # be slow ones again.
        pages_in_time = int(len(trips) * READING_TIME / max(seconds, 1e-6))
        self._batch_size = max(1, min(LARGEST_BATCH, 2 * self._batch_size, pages_in_time))

    def _pages_of_next_batch(self) -> int:
        """Return how many ready pages may go together: up to the batch's size and bytes; at least one."""
        size = 0
        for number, trip in enumerate(self._ready[: self._batch_size]):
            size += self._bytes_of[trip]
            if size > LARGEST_BATCH_BYTES:
                return max(number, 1)
        return self._batch_size

    def _hear_own(self, trip: Trip) -> None:
        """Hear a robots.txt or a probe at once, in no batch, and take it through the processors."""
        page_or_error: PageOrError
        try:
            page_or_error = self._steps.visit_own(trip)
        except BaseException as error:  # noqa: BLE001 - as above
            page_or_error = tamed(error)
        self._begin_processing(trip, page_or_error)

    def _begin_processing(self, trip: Trip, page_or_error: PageOrError) -> None:
        """Take a page through the processors up to its first wait, without a task.

        Most never wait; the others go on in a task, which `_in_processors` keeps.
        """
        PAGE.set(trip)
        processing = self._process_to_end(trip, page_or_error)
        try:
            waits_for = processing.send(None)
        except StopIteration:
            return
        task = self._loop.create_task(_Resumed(processing, waits_for))
        self._in_processors[trip] = task, processing
        if self._cancelled:  # it was ready, or still being fetched
            self._cancel(trip, task)

    async def _process_to_end(self, trip: Trip, page_or_error: PageOrError) -> None:
        """Take a page through the processors, then finish its trip, whatever was raised."""
        try:
            await self._steps.process(trip, page_or_error)
        except BaseException as error:  # noqa: BLE001 - as above
            self._note_error(error, trip)
        finally:
            self._bytes_waiting -= self._bytes_of.pop(trip)
            self._in_processors.pop(trip, None)
            self._finish(trip)

    # -- finish

    def _finish(self, trip: Trip) -> None:
        """Finish a trip, unless that was done; then start due fetches, or see if all is over."""
        if trip.booked:  # `forsake` has finished it
            return
        try:
            self._steps.finish(trip)
        except BaseException as error:  # noqa: BLE001 - a mistake in code: what it has booked is unknown
            self._steps.fail(tamed(error))
        if self._closed:
            self._settle_if_drained()
        else:
            self.wake()

    def _note_error(self, error: BaseException, trip: Trip) -> None:
        """Leave a cancelled trip to the next run. Log any other error, which is a bug."""
        if isinstance(error, asyncio.CancelledError):
            trip.abandoned = True
        else:
            logger.error("Error while handling %s", trip.url, exc_info=tamed(error))

    # -- the end

    def close(self) -> asyncio.Future[None]:
        """Begin no more fetches. What is under way, ready pages too, goes on to its end.

        The future is done when all of it is finished.
        """
        self._closed = True
        drained = self._drained = self._loop.create_future()
        self._settle_if_drained()
        return drained

    def _settle_if_drained(self) -> None:
        """End the future of `close` if nothing is under way any more."""
        if self._drained is not None and not self._drained.done() and not self.busy:
            self._drained.set_result(None)

    def waiting_pages(self) -> dict[Trip, Any]:
        """Return the coroutines of the pages that wait in the processors, to say what hangs."""
        return {trip: processing for trip, (_, processing) in self._in_processors.items()}

    def cancel(self) -> None:
        """Cancel the pages that wait in the processors, now or later, and leave them to the next run."""
        self._cancelled = True
        for trip, (task, _) in [*self._in_processors.items()]:
            self._cancel(trip, task)

    def _cancel(self, trip: Trip, task: asyncio.Task[None]) -> None:
        trip.abandoned = True
        task.cancel()

    def forsake(self) -> None:
        """Finish the pages that did not stop when cancelled; what they still do is ignored."""
        unfinished = [*self._in_processors]
        if unfinished:
            self._steps.give_up()
        self._in_processors.clear()
        for trip in unfinished:
            self._finish(trip)


class _Resumed(Coroutine[Any, Any, None]):
    """A coroutine that was begun outside of any task, for the task that goes on with it.

    A coroutine function would not do: one that is cancelled before its first step never runs, so
    that the page inside would not hear of it.
    """

    def __init__(self, begun: Coroutine[Any, Any, None], waits_for: Any) -> None:
        """`waits_for`: what `begun` awaits; it is the first thing that the task hears."""
        self._begun = begun
        self._first_awaited = [waits_for]  # empty once the task has it

    def send(self, value: Any) -> Any:
        return self._first_awaited.pop() if self._first_awaited else self._begun.send(value)

    def throw(self, *error: Any) -> Any:
        self._first_awaited.clear()
        return self._begun.throw(*error)

    def close(self) -> None:
        self._begun.close()

    def __await__(self) -> Generator[Any, Any, None]:
        raise NotImplementedError("only a task runs it")
