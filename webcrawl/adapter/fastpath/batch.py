"""Processes the pages that are ready at the same time together, stage by stage.

A stage then finds its code and its tables in the processor's caches, and a page needs no task: 5 % of all CPU time
(docs/decisions/adapter-fastpath.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from functools import partial
from types import coroutine
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

MOST = 24  # pages in one turn of the event loop: fewer cost more
TURN = 0.02  # seconds that a batch may take of a turn: fewer pages follow one that took longer
Output = Iterable[Any] | Exception  # of one page: items and requests, or why there are none
ParseAll = Callable[[Sequence[Response]], list[Output]]
Leave = Callable[[Output, Response, Request], Coroutine[Any, Any, None]]


def parse_all(spider: Spider | None) -> ParseAll | None:
    """A spider's `parse_all`, unless a subclass overrides `parse` alone: then it gets one page at a time."""
    for kind in type(spider).__mro__:
        if "parse" in vars(kind):
            return getattr(spider, "parse_all", None) if "parse_all" in vars(kind) else None
    return None


class Batch:
    """Collects answers for the spider's `parse_all`, and passes the result of each on to `leave`.

    While a checkpoint waits for the pages that were begun with, the others stay here: `may_begin` is false, and then
    `go_on` is called.
    """

    def __init__(
        self,
        parse_all: ParseAll,
        leave: Leave,
        may_begin: Callable[[], bool],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._parse_all, self._leave, self._may_begin, self._clock = parse_all, leave, may_begin, clock
        self._waiting: list[tuple[Request, Response]] = []
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._most, self._due = MOST, False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: Request, response: Response) -> None:
        """Adds one answer; the batch is processed when this turn of the event loop is over."""
        self._waiting.append((request, response))
        self.go_on()

    def go_on(self) -> None:
        if not self._due:
            self._due = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        self._due = False
        if not self._may_begin():
            return
        batch = self._waiting[: self._most]
        del self._waiting[: self._most]
        if self._waiting:
            self.go_on()
        begun = self._clock()
        self._pass(batch)
        seconds = self._clock() - begun
        self._most = max(1, min(MOST, 2 * self._most, int(len(batch) * TURN / max(seconds, 1e-6))))

    def _pass(self, batch: list[tuple[Request, Response]]) -> None:
        try:
            outputs = self._parse_all([response for _, response in batch])
            ends = list(zip(batch, outputs, strict=True))
        except Exception as error:  # noqa: BLE001 - the scraper handles it
            ends = [(one, error) for one in batch]
        for (request, response), output in ends:
            self._begin(self._leave(output, response, request))

    def _begin(self, leaving: Coroutine[Any, Any, None]) -> None:
        """Runs it up to its first wait. Most never wait; the others continue as a task."""
        try:
            waits_for = leaving.send(None)
        except StopIteration:
            return
        task = self._loop.create_task(_go_on(leaving, waits_for))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _go_on(leaving: Coroutine[Any, Any, None], waits_for: Any) -> None:
    await _rest(leaving, waits_for)


@coroutine
def _rest(leaving: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    while True:
        try:
            go_on = partial(leaving.send, (yield waits_for))
        except BaseException as error:  # noqa: BLE001 - the coroutine handles a cancellation too
            go_on = partial(leaving.throw, error)
        try:
            waits_for = go_on()
        except StopIteration:
            return
