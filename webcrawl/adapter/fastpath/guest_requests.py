"""The end of requests that go through Scrapy's own engine: Scrapy has no signal for it.

A request is over when its items have left the pipelines, or its failure was handled. The engine
then removes it from the set of those in progress, which is the only moment that says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.defer import aiter_errback, iter_errback
from twisted.python.failure import Failure

from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.adapter.request_trip import trip_of
from webcrawl.crawl.panics import reading, taming
from webcrawl.crawl.trip import PAGE, Trip


class RemovalSet(set[Request]):
    """A set that says what is removed from it. What was removed already may be removed again."""

    def __init__(self, removed: Callable[[Request], object]) -> None:
        super().__init__()
        self._removed = removed

    def remove(self, request: Request) -> None:
        if request in self:
            self.discard(request)
            self._removed(request)


class GuestRequests:
    """Takes every request of the scheduler's to its end, and then calls `finished`."""

    def __init__(self, handle: EngineHandle, finished: Callable[[Trip], None]) -> None:
        self._handle = handle
        self._finished = finished
        engine = handle.engine
        self._scraper = engine.scraper
        self._processed: dict[Request, asyncio.Task[Any]] = {}  # in the spider or the pipelines
        # The engine removes a request here when its items have left the pipelines: Scrapy has no
        # signal for that.
        handle.slot.inprogress = RemovalSet(self._ended)
        if engine._start is not None:  # noqa: SLF001
            engine._start = reading(engine._start)  # noqa: SLF001
        self._call_spider = taming(self._scraper.call_spider_async)
        self._scraper.call_spider_async = self._call  # type: ignore[method-assign]
        # Scrapy's own method takes a queue and two tasks for each answer, and 101 tasks with its
        # default of 100
        if self._scraper.concurrent_items == 1:
            self._scraper.handle_spider_output_async = self._outputs  # type: ignore[method-assign]

    async def _call(self, result: Response | Failure, request: Request) -> Any:
        """Call the spider; what it and the pipelines do from here on belongs to this page."""
        trip = trip_of(request)
        task = asyncio.current_task()
        if trip is not None and task is not None:
            PAGE.set(trip)
            self._processed[request] = task
        return await self._call_spider(result, request)

    async def _outputs(
        self,
        result: Iterable[Any] | AsyncIterator[Any],
        request: Request,
        response: Response | Failure,
    ) -> None:
        """Take the outputs in the page's task, so that the crawl's end can say where it waits."""
        wrong = self._scraper.handle_spider_error
        if isinstance(result, AsyncIterator):
            async for output in aiter_errback(result, wrong, request, response):
                await self._output(output, response)
        else:
            for output in iter_errback(result, wrong, request, response):
                await self._output(output, response)

    async def _output(self, output: Any, response: Response | Failure) -> None:
        if isinstance(output, Request):
            self._handle.engine.crawl(output)
        elif output is not None:
            await self._scraper.start_itemproc_async(output, response=response)

    def _ended(self, request: Request) -> None:
        self._processed.pop(request, None)
        trip = trip_of(request)
        # the code that awaits a download hears of its end itself
        if trip is not None and not (trip.booked or trip.inline):
            self._finished(trip)

    # -- the end of the crawl

    def waiting_pages(self) -> dict[Trip, Any]:
        """Return the coroutines of pages in the spider or the pipelines, where they wait."""
        waiting: dict[Trip, Any] = {}
        for request, task in self._processed.items():
            trip = trip_of(request)
            if trip is not None:
                waiting[trip] = task.get_coro()
        return waiting

    def cancel(self) -> None:
        """Leave these pages to the next run."""
        for request, task in [*self._processed.items()]:
            if (trip := trip_of(request)) is not None:
                trip.abandoned = True
            task.cancel()

    def forsake(self) -> None:
        """End the way of pages that have gone on for all that: what they still do is lost."""
        left = [*self._processed]
        if left:
            self._handle.give_up_pages(left)
        for request in left:
            self._handle.slot.remove_request(request)
