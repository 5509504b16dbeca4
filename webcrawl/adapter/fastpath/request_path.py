"""A request's way through Scrapy's engine as one task; Scrapy makes it five tasks, two queues and ten Deferreds.

The steps are Scrapy's (2.19: `_start_scheduled_request` in core/engine.py, `enqueue_scrape` in core/scraper.py), and so
are middlewares, callbacks, pipelines and signals, and their order. What is left out serves only concurrency within one
page, or a middleware that is not there. docs/decisions/adapter-fastpath.md has what it saves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from scrapy import Request, signals
from scrapy.http import Response
from scrapy.utils.defer import aiter_errback, iter_errback
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from webcrawl.adapter.fastpath.engine import Engine
from webcrawl.adapter.listeners import has_listener
from webcrawl.adapter.trip import KEY
from webcrawl.crawl.panics import reading, tamed, taming
from webcrawl.crawl.trip import PAGE, Trip

logger = logging.getLogger(__name__)


STARTS = 0.01  # seconds of a turn of the event loop for which requests are started
OF_OUTPUT = ("process_spider_input", "process_spider_output", "process_spider_exception")


class RequestPath:
    """Takes every request that the scheduler hands out to its end, and then calls `finished`.

    It stands in the engine's place of `_start_scheduled_request`, which saves 150 us per page of 1,230; where no
    middleware or concurrency asks for more, it calls downloader, spider and pipelines directly (7 us of 33 per request
    with everything else replaced by stubs).
    """

    def __init__(
        self,
        handle: Engine,
        finished: Callable[[Trip], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        engine = self._engine = handle.engine
        self._crawler, self._slot, self._finished, self._wake = engine.crawler, handle.slot, finished, handle.wake
        self._give_up_pages = handle.give_up_pages
        downloader: Any = engine.downloader  # the crawl's own: install's caller has seen to that
        self._downloader, self._scraper = downloader, engine.scraper
        before = downloader.middleware
        self._download: Callable[[Request], Awaitable[Response | Request]] = downloader.download
        if any(before.methods.values()):
            self._download = downloader.through
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._begun = 0.0  # when the first request of this turn of the event loop was started
        self._under_way: dict[Request, asyncio.Task[None]] = {}
        engine._start_scheduled_request = self._start  # type: ignore[method-assign]  # noqa: SLF001
        if engine._start is not None:  # noqa: SLF001
            engine._start = reading(engine._start)  # noqa: SLF001
        self._scraper.call_spider_async = taming(self._scraper.call_spider_async)  # type: ignore[method-assign, assignment]
        if self._scraper.concurrent_items == 1:
            self._scraper.handle_spider_output_async = self._outputs  # type: ignore[method-assign]
        around = self._scraper.spidermw
        if not any(method for name in OF_OUTPUT for method in around.methods[name]):
            around.scrape_response_async = _called  # type: ignore[method-assign, assignment]

    def _start(self) -> bool:
        now = self._clock()
        if self._begun and now - self._begun > STARTS:
            self._begun = 0.0
            self._wake()  # the next turn goes on
            return False
        self._begun = self._begun or now
        request = self._slot.scheduler.next_request()
        if request is None:
            self._begun = 0.0
            if has_listener(signals.scheduler_empty, self._crawler.signals.sender):
                self._crawler.signals.send_catch_log(signals.scheduler_empty)
            return False
        self._slot.add_request(request)
        self._downloader.active.add(request)  # now: the engine goes on asking until it has enough of these
        self._under_way[request] = self._loop.create_task(self._pass(request, request.meta[KEY]))
        return True

    async def _pass(self, request: Request, trip: Trip) -> None:
        self._begun = 0.0
        PAGE.set(trip)
        try:
            result = await self._downloaded(request, trip)
            if isinstance(result, Request):  # a middleware's
                self._engine.crawl(result)
            elif trip.comes_again:
                pass  # the spider gets only the last answer
            else:
                await self._scraped(result, request)
        except BaseException as error:  # noqa: BLE001 - whatever it is, nothing must wait for this request
            self._broken(error, request, trip)
        finally:
            del self._under_way[request]
        self._end(request, trip)

    def _broken(self, error: BaseException, request: Request, trip: Trip) -> None:
        """A cancelled request is left to the next run. What else nobody has handled is a mistake in code."""
        if isinstance(error, asyncio.CancelledError):
            trip.abandoned = True
        else:
            logger.error("Error while handling %s", request, exc_info=tamed(error))

    def unreturned(self) -> dict[Trip, Any]:
        """The coroutines of pages that are in the spider or the pipelines, where they wait for something."""
        return {one.meta[KEY]: coroutine for one, (_, coroutine) in self._unreturned().items()}

    def _unreturned(self) -> dict[Request, tuple[asyncio.Task[None], Any]]:
        active, mine = self._downloader.active, self._under_way.items()
        return {one: (task, task.get_coro()) for one, task in mine if one not in active}

    def cancel(self) -> None:
        """Leaves these pages to the next run."""
        for request, (task, _) in self._unreturned().items():
            request.meta[KEY].abandoned = True
            task.cancel()

    def forsake(self) -> None:
        """Ends the way of pages that have gone on for all that; whatever they still do counts for nothing."""
        left = [*self._unreturned()]
        if left and (slot := self._scraper.slot) is not None:
            for request in left:
                slot.active.discard(request)
            for request in left:
                self._end(request, request.meta[KEY])
            self._give_up_pages()

    def _end(self, request: Request, trip: Trip) -> None:
        if trip.booked:  # it was forsaken
            return
        self._finished(trip)
        self._slot.remove_request(request)
        self._wake()

    async def _downloaded(self, request: Request, trip: Trip) -> Response | Request | Failure:
        result: Response | Request | Failure
        try:
            if trip.refusal is not None:
                await self._downloader.refuse(trip)
            result = await self._download(request)
            if isinstance(result, Response):
                self._received(result, request)
        except BaseException as error:  # noqa: BLE001 - the errback decides what it means
            result = Failure(tamed(error))  # type: ignore[no-untyped-call]
        finally:
            self._downloader.active.remove(request)
            if self._downloader.turned_away:  # else it has asked for all that is due, and this host is not yet
                self._wake()
        if trip.outcome is None and trip.refusal is None:
            await self._downloader.unasked(trip, result)
        return result

    def _received(self, response: Response, request: Request) -> None:
        if response.request is None:
            response.request = request
        spider = self._engine.spider
        line = self._engine.logformatter.crawled(response.request, response, spider)  # type: ignore[arg-type]
        if line is not None:
            logging.getLogger("scrapy.core.engine").log(*logformatter_adapter(line), extra={"spider": spider})
        if has_listener(signals.response_received, self._crawler.signals.sender):
            self._crawler.signals.send_catch_log(
                signals.response_received, response=response, request=response.request, spider=spider
            )

    def _enter(self, result: Response | Failure, request: Request) -> None:
        slot = self._scraper.slot
        if slot is None:
            raise RuntimeError("the scraper has no slot")
        slot.active.add(request)
        slot.active_size += max(len(result.body) if isinstance(result, Response) else 0, slot.MIN_RESPONSE_SIZE)

    def _exit(self, result: Response | Failure, request: Request) -> None:
        slot = self._scraper.slot
        if slot is not None and request in slot.active:
            slot.finish_response(result, request)
            self._scraper._check_if_closing()  # noqa: SLF001

    async def _scraped(self, result: Response | Failure, request: Request) -> None:
        self._enter(result, request)
        try:
            await self._scraper._scrape(result, request)  # noqa: SLF001
        finally:
            self._exit(result, request)

    async def _outputs(
        self, result: Iterable[Any] | AsyncIterator[Any], request: Request, response: Response | Failure
    ) -> None:
        """One after the other, as CONCURRENT_ITEMS = 1 has it, without a queue and two tasks for that."""
        scraper = self._scraper
        if type(result) is list:  # nothing of the spider's runs while it is read
            for output in result:
                await scraper._process_spidermw_output_async(output, response)  # noqa: SLF001
        elif isinstance(result, AsyncIterator):
            async for output in aiter_errback(result, scraper.handle_spider_error, request, response):
                await scraper._process_spidermw_output_async(output, response)  # noqa: SLF001
        else:
            for output in iter_errback(result, scraper.handle_spider_error, request, response):
                await scraper._process_spidermw_output_async(output, response)  # noqa: SLF001


async def _called(scrape: Callable[[Response, Request], Awaitable[Any]], response: Response, request: Request) -> Any:
    """The results of the spider, where no middleware wants to see them."""
    return await scrape(response, request)
