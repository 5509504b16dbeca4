"""Finds the end of requests that go through Scrapy's own engine, for which Scrapy has no signal.

A request has ended when its items have left the pipelines, or its failure was handled. The engine
then removes it from its set of requests in progress, and nothing else shows the end.
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


class ReportingSet(set[Request]):
    """A set that reports each request that is removed from it. A missing request may be removed."""

    def __init__(self, removed: Callable[[Request], object]) -> None:
        super().__init__()
        self._removed = removed

    def remove(self, request: Request) -> None:
        if request in self:
            self.discard(request)
            self._removed(request)


class GuestRequests:
    """Follows each request of the scheduler's through Scrapy's engine, and calls `finished` at its end."""

    def __init__(self, handle: EngineHandle, finished: Callable[[Trip], None]) -> None:
        self._handle = handle
        self._finished = finished
        engine = handle.engine
        downloader: Any = engine.downloader
        self._scraper = engine.scraper
        # The tasks of requests in the downloader, and of pages in the spider or the pipelines
        self._requests: dict[Request, asyncio.Task[Any]] = downloader.tasks
        self._pages: dict[Request, asyncio.Task[Any]] = {}
        handle.slot.inprogress = ReportingSet(self._request_ended)
        if engine._start is not None:  # noqa: SLF001
            engine._start = reading(engine._start)  # noqa: SLF001
        self._call_spider = taming(self._scraper.call_spider_async)
        self._scraper.call_spider_async = self._call  # type: ignore[method-assign]
        # Scrapy's own method makes a queue and two tasks for each answer, or 101 tasks with the
        # default of CONCURRENT_ITEMS
        if self._scraper.concurrent_items == 1:
            self._scraper.handle_spider_output_async = self._process_outputs  # type: ignore[method-assign]

    async def _call(self, result: Response | Failure, request: Request) -> Any:
        """Call the spider in the page's context, so that what is awaited there belongs to the page."""
        trip = trip_of(request)
        task = asyncio.current_task()
        if trip is not None and task is not None:
            PAGE.set(trip)
            self._pages[request] = task
        return await self._call_spider(result, request)

    async def _process_outputs(
        self,
        result: Iterable[Any] | AsyncIterator[Any],
        request: Request,
        response: Response | Failure,
    ) -> None:
        """Process a callback's outputs in the page's own task, so that a log line can say where it waits."""
        handle_error = self._scraper.handle_spider_error
        if isinstance(result, AsyncIterator):
            async for output in aiter_errback(result, handle_error, request, response):
                await self._process_output(output, response)
        else:
            for output in iter_errback(result, handle_error, request, response):
                await self._process_output(output, response)

    async def _process_output(self, output: Any, response: Response | Failure) -> None:
        if isinstance(output, Request):
            self._handle.engine.crawl(output)
        elif output is not None:
            await self._scraper.start_itemproc_async(output, response=response)

    def _request_ended(self, request: Request) -> None:
        self._pages.pop(request, None)
        trip = trip_of(request)
        # An inline download is booked where it is awaited
        if trip is not None and not (trip.booked or trip.inline):
            self._finished(trip)

    # -- the end of the crawl

    def waiting_pages(self) -> dict[Trip, Any]:
        """Return the coroutine of each request in the downloader, the spider or the pipelines."""
        return {
            trip_of(request) or Trip(awaited=request.url): task.get_coro()
            for request, task in self._tasks.items()
        }

    @property
    def _tasks(self) -> dict[Request, asyncio.Task[Any]]:
        return {**self._requests, **self._pages}

    def cancel(self) -> None:
        """Cancel all requests, and leave their pages to the next run."""
        for request, task in self._tasks.items():
            _leave_to_next_run(request)
            task.cancel()

    def forsake(self) -> None:
        """End the requests that have not stopped although they were cancelled, or began later.

        What their pages still do is lost, and the next run fetches them again.
        """
        remaining = [*self._tasks]
        if remaining:
            self._handle.give_up_pages(remaining)
        for request in remaining:
            _leave_to_next_run(request)
            self._handle.slot.remove_request(request)


def _leave_to_next_run(request: Request) -> None:
    trip = trip_of(request)
    if trip is not None:
        trip.abandoned = True
