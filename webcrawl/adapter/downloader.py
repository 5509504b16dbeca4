"""Scrapy's downloader without its slots and delays: the frontier has already waited for the host's time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotConfigured,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.http import Response

from webcrawl.adapter.barrier import Barrier
from webcrawl.adapter.values import values_of
from webcrawl.fastpath.signals import has_listener
from webcrawl.model import Exchange, Outcome, Status
from webcrawl.net.errors import FetchError
from webcrawl.net.network import Network
from webcrawl.net.retry_after import retry_after

logger = logging.getLogger(__name__)

# How downloads end that a handler of somebody else's was asked for
EXPECTED = (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)

ASKED_TO_WAIT = frozenset({429, 503})  # RFC 6585 4, RFC 9110 15.6.4


class FrontierDownloader(Downloader):
    """Downloads what it is given at once, and notes the outcome in the request's `meta["outcome"]`.

    What comes back for the scheduler's own requests waits at the barrier while a checkpoint is taken.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.network = Network(values_of(crawler))
        self.barrier = Barrier()
        self.on_outcome: Callable[[Request], None] | None = None  # hears of the scheduler's own, before the spider
        self._known: dict[str, Callable[[Request], Awaitable[Response]]] = {}
        self._under_way: dict[Request, asyncio.Task[Any] | None] = {}
        crawler.signals.connect(self.network.close, signals.engine_stopped)

    async def _enqueue_request(self, request: Request) -> Response:
        """Scrapy's place for slots and delays; between the middlewares and the handler."""
        begun, meta = time.time(), request.meta
        self._tell(signals.request_reached_downloader, request)
        try:
            response = await self._fetch(request)
        except Exception as error:
            now = time.time()
            meta["outcome"] = Outcome(_status(error, request), now - begun, at=now)
            raise
        else:
            now = time.time()
            meta["outcome"] = outcome = Outcome(response.status, now - begun, at=now)
            self._tell(signals.response_downloaded, request, response=response)
            exchange = meta.get("exchange")
            if exchange is not None:  # by one of the crawl's own handlers
                _add(outcome, exchange)
            return response
        finally:
            self._tell(signals.request_left_downloader, request)
            if "link" in meta:
                await self.barrier.enter(request)
                if self.on_outcome is not None:
                    self.on_outcome(request)

    async def refuse(self, request: Request) -> NoReturn:
        """What ended in the frontier waits at the barrier as well before the spider hears of it."""
        await self.barrier.enter(request)
        raise IgnoreRequest(request.meta["refused"].reason)

    def _tell(self, signal: object, request: Request, **more: Any) -> None:
        if has_listener(signal, self.signals.sender):
            self.signals.send_catch_log(signal=signal, request=request, spider=self.crawler.spider, **more)

    async def _fetch(self, request: Request) -> Response:
        task = asyncio.current_task()
        self._under_way[request] = task
        try:
            return await self._handler(request.url.partition(":")[0])(request)
        except asyncio.CancelledError:
            if "abandoned" not in request.meta or task is None:
                raise
            task.uncancel()
            raise DownloadCancelledError("the crawl ends") from None
        finally:
            del self._under_way[request]

    def _handler(self, scheme: str) -> Callable[[Request], Awaitable[Response]]:
        """Remembered, and the URL not parsed for it; what is no handler of today's kind is left to Scrapy."""
        known = self._known.get(scheme)
        if known is None:
            handler = self.handlers._get_handler(scheme)  # noqa: SLF001 - it makes the handler, or says why not
            ask = handler.download_request if isinstance(handler, BaseDownloadHandler) else None
            known = self._known[scheme] = ask or self.handlers.download_request_async
        return known

    def abandon(self) -> None:
        """Ends all downloads under way; their URLs are still to be fetched, when the crawl is resumed."""
        for request, task in self._under_way.items():
            if task is not None:
                request.meta["abandoned"] = True
                task.cancel()


def _status(error: Exception, request: Request) -> int:
    """What no server can cause is told with its traceback: nobody else is going to, the errback only counts it."""
    if isinstance(error.__cause__, FetchError):
        return error.__cause__.status
    if isinstance(error, UnsupportedURLSchemeError):
        return Status.UNSUPPORTED
    if not isinstance(error, EXPECTED):
        logger.error("Error downloading %s", request, exc_info=error)
    return Status.UNEXPECTED


def _add(outcome: Outcome, exchange: Exchange) -> None:
    outcome.ip = exchange.ip
    if exchange.status in ASKED_TO_WAIT:
        outcome.wait = retry_after(exchange.header(b"retry-after"), outcome.at)


def downloader_of(crawler: Crawler) -> FrontierDownloader:
    """The crawler's downloader, which has to be this one."""
    downloader = crawler.engine.downloader if crawler.engine else None
    if not isinstance(downloader, FrontierDownloader):
        raise NotConfigured(f"DOWNLOADER: {FrontierDownloader.__name__} is needed, not {downloader}")
    return downloader
