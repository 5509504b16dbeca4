"""A request's way through Scrapy's engine as one task; Scrapy makes it five tasks, two queues and ten Deferreds.

The steps are Scrapy's (2.19: `_start_scheduled_request` in core/engine.py, `enqueue_scrape` in core/scraper.py), and so
are middlewares, callbacks, pipelines and signals, and their order. What is left out is what only concurrency within one
page needs, or a middleware that is not there. docs/decisions/fastpath-request-path.md has what it saves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Any, cast

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import aiter_errback, ensure_awaitable, iter_errback
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.python import global_object_name
from twisted.python.failure import Failure

from webcrawl.adapter.downloader import downloader_of
from webcrawl.fastpath.batch import Batch, Output, parse_all
from webcrawl.fastpath.signals import skip_unheard_signals

logger = logging.getLogger(__name__)

OF_OUTPUT = ("process_spider_input", "process_spider_output", "process_spider_exception")


class RequestPath:
    """Calls `finished` for every request that the scheduler gave out, when all is done for it.

    That is after its callback's items have left the pipelines, or its failure is handled: the signals that Scrapy
    sends tell of downloads, not of this, and of some requests they tell nothing.
    """

    def __init__(self, crawler: Crawler, finished: Callable[[Request], None]) -> None:
        engine = crawler.engine
        if engine is None or engine._slot is None:  # noqa: SLF001 - here and below: there is no public word for it
            raise RuntimeError("the engine has no slot before the scheduler is opened")
        self._crawler, self._engine, self._slot, self._finished = crawler, engine, engine._slot, finished  # noqa: SLF001
        self._downloader, self._scraper = engine.downloader, engine.scraper
        before = self._downloader.middleware
        self._download: Callable[[Request], Awaitable[Response | Request]] = self._downloader._enqueue_request  # noqa: SLF001
        if any(before.methods.values()):
            self._download = partial(before.download_async, self._download)
        self._loop = asyncio.get_running_loop()
        self._under_way: dict[Request, asyncio.Task[None]] = {}
        engine._start_scheduled_request = self._start  # type: ignore[method-assign]  # noqa: SLF001
        if self._scraper.concurrent_items == 1:
            self._scraper.handle_spider_output_async = self._outputs  # type: ignore[method-assign]
        if type(self._scraper.itemproc) is ItemPipelineManager:
            self._scraper.itemproc.process_item_async = self._processed  # type: ignore[method-assign]
        self._batch: Batch | None = None
        around = self._scraper.spidermw
        if not any(method for name in OF_OUTPUT for method in around.methods[name]):
            around.scrape_response_async = _called  # type: ignore[method-assign, assignment]
            if (parse := parse_all(crawler.spider)) is not None:
                self._batch = Batch(parse, self._leave)
        skip_unheard_signals(crawler.signals)

    def _start(self) -> bool:
        request = self._slot.scheduler.next_request()
        if request is None:
            self._crawler.signals.send_catch_log(signals.scheduler_empty)
            return False
        self._slot.add_request(request)
        self._downloader.active.add(request)  # now: the engine goes on asking until it has enough of these
        self._under_way[request] = self._loop.create_task(self._pass(request))
        return True

    async def _pass(self, request: Request) -> None:
        try:
            result = await self._downloaded(request)
            if isinstance(result, Request):  # a middleware's
                self._engine.crawl(result)
            elif self._batch is not None and request.callback is None and isinstance(result, Response):
                self._enter(result, request)
                self._batch.add(request, result)
                return
            else:
                await self._scraped(result, request)
        except asyncio.CancelledError:  # by its own callback: it is not done, but nobody must wait for it either
            request.meta["abandoned"] = True
        except Exception:
            logger.exception("Error while handling %s", request)
        finally:
            del self._under_way[request]
        self._end(request)

    async def _leave(self, output: Output, response: Response, request: Request) -> None:
        """The rest of a page's way, after the batch that it was in."""
        scraper = self._scraper
        try:
            if isinstance(output, Exception):
                scraper.handle_spider_error(Failure(output), request, response)  # type: ignore[no-untyped-call]
            else:
                await scraper.handle_spider_output_async(output, request, response)
        except asyncio.CancelledError:  # by its own pipeline: as above
            request.meta["abandoned"] = True
        except Exception:
            logger.exception("Error while handling %s", request)
        finally:
            self._exit(response, request)
        self._end(request)

    def _end(self, request: Request) -> None:
        self._finished(request)
        self._slot.remove_request(request)
        self._wake()

    def _wake(self) -> None:
        """What `nextcall.schedule()` does, by a fifth of the calls."""
        nextcall: Any = self._slot.nextcall
        if nextcall._call is None:  # noqa: SLF001
            nextcall._call = self._loop.call_soon(nextcall)  # noqa: SLF001

    async def _downloaded(self, request: Request) -> Response | Request | Failure:
        try:
            if "refused" in request.meta:
                await downloader_of(self._crawler).refuse(request)
            result = await self._download(request)
            if isinstance(result, Response):
                self._received(result, request)
        except Exception:  # noqa: BLE001 - what it means is the errback's affair
            return Failure()  # type: ignore[no-untyped-call]
        else:
            return result
        finally:
            self._downloader.active.remove(request)
            self._wake()

    def _received(self, response: Response, request: Request) -> None:
        if response.request is None:
            response.request = request
        spider = self._engine.spider
        line = self._engine.logformatter.crawled(response.request, response, spider)  # type: ignore[arg-type]
        if line is not None:
            logging.getLogger("scrapy.core.engine").log(*logformatter_adapter(line), extra={"spider": spider})
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
        if self._scraper.slot is not None:
            self._scraper.slot.finish_response(result, request)
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

    async def _processed(self, item: Any) -> Any:
        """Through all pipelines; what comes out of one as it went in is nothing to wait for."""
        itemproc = self._scraper.itemproc
        for method in cast("Iterable[Callable[..., Any]]", itemproc.methods["process_item"]):
            kind = type(item)
            if method in itemproc._mw_methods_requiring_spider:  # noqa: SLF001
                item = method(item, self._crawler.spider)
            else:
                item = method(item)
            if type(item) is not kind:
                if asyncio.current_task() is None:
                    await asyncio.sleep(0)  # out of a batch into a task: time-outs want one
                item = await ensure_awaitable(item, _warn=global_object_name(method))
        return item


async def _called(scrape: Callable[[Response, Request], Awaitable[Any]], response: Response, request: Request) -> Any:
    """What the spider returns, where no middleware wants to see it."""
    return await scrape(response, request)
