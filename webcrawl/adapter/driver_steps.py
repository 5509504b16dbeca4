"""Scrapy as the host of the crawl's own loop (crawl/driver.py): fetches, and processes pages.

Scrapy's engine makes five tasks, two queues and about ten Deferreds for each request, so that
middlewares can change what a callback yields: a crawl that makes pages needs none of that. A request
and a response are made only for a listener of a signal, a log formatter or an error. OF_ENGINE says
what keeps a crawl on Scrapy's engine.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import iter_errback
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.adapter.foreign_handlers import CrawlDownloadHandlers
from webcrawl.adapter.handlers import FtpHandler, GopherHandler, HttpHandler
from webcrawl.adapter.listeners import has_listener, hears_any
from webcrawl.adapter.logformat import QuietLogFormatter
from webcrawl.adapter.request_meta import proxies_of
from webcrawl.adapter.request_passage import RequestSource
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.base.model import Link
from webcrawl.crawl.driver import PageOrError
from webcrawl.crawl.fetching import Fetching, link_of
from webcrawl.crawl.trip import Trip

engine_logger = logging.getLogger("scrapy.core.engine")  # where Scrapy logs responses

OF_DOWNLOADS = frozenset(
    (
        signals.request_reached_downloader,
        signals.request_left_downloader,
        signals.response_downloaded,
    )
)
OF_ITEMS = frozenset((signals.item_scraped, signals.item_dropped, signals.item_error))
OURS = {"http": HttpHandler, "https": HttpHandler, "ftp": FtpHandler, "gopher": GopherHandler}


def _has_callbacks(crawler: Crawler) -> bool:
    return getattr(crawler.spider, "has_callbacks", True)


def _has_downloader_middlewares(crawler: Crawler) -> bool:
    return crawler.engine is not None and any(crawler.engine.downloader.middleware.methods.values())


def _has_spider_middlewares(crawler: Crawler) -> bool:
    return crawler.engine is not None and any(crawler.engine.scraper.spidermw.methods.values())


def _has_other_handlers(crawler: Crawler) -> bool:
    downloader: object = crawler.engine.downloader if crawler.engine is not None else None
    handlers: CrawlDownloadHandlers | None = getattr(downloader, "handlers", None)
    # This run reads archives
    if handlers is None:
        return False
    return any(type(handlers.by_scheme.get(scheme)) is not kind for scheme, kind in OURS.items())


# Code that keeps a crawl on Scrapy's engine, and why
OF_ENGINE: tuple[tuple[Callable[[Crawler], bool], str], ...] = (
    (_has_callbacks, "the spider's callbacks receive Scrapy's responses"),
    (
        _has_downloader_middlewares,
        "a downloader middleware may answer or replace requests",
    ),
    (
        _has_spider_middlewares,
        "a spider middleware receives Scrapy's responses",
    ),
    (
        _has_other_handlers,
        "a download handler that is not webcrawl's, such as a browser, takes Scrapy's requests",
    ),
)


def why_engine(crawler: Crawler) -> str:
    """Return why only Scrapy's engine can run this crawl, or an empty string."""
    return next((why for is_so, why in OF_ENGINE if is_so(crawler)), "")


class PagesThroughScrapy:
    """The steps that all crawls share: Scrapy's scraper takes their pages to the pipelines."""

    def __init__(
        self,
        crawler: Crawler,
        engine: EngineHandle,
        finished: Callable[[Trip], None],
        fail: Callable[[Exception], None],
        judges: Sequence[Callable[[Trip, Response], Response]] = (),
    ) -> None:
        """`judges`: what others may have of a response."""
        self._judges = judges
        self._engine = engine.engine
        self._scraper = engine.engine.scraper
        self.be_idle = engine.wake
        self.give_up = engine.give_up_pages
        self._signals = crawler.signals
        self._sender = crawler.signals.sender
        self.fail = fail
        self._finished = finished
        self._spider: Any = crawler.spider
        self._formatter: Any = crawler.logformatter
        self._is_quiet = type(self._formatter) is QuietLogFormatter
        # those that other code has seen, until their pages are finished
        self._requests: dict[Trip, Request] = {}

    def visit(self, trips: Sequence[Trip]) -> list[PageOrError]:
        """Make the pages of these answers.

        Only a subclass with a `parse_all` of its own gets responses.
        """
        for trip in trips:
            self.tell_received(trip)
        if self._spider.has_parse_all:
            return list(self._spider.parse_all([self._response(trip) for trip in trips]))
        pages: list[PageOrError] = self._spider.making.pages(trips)
        return pages

    async def process(self, trip: Trip, page_or_error: PageOrError) -> None:
        """Take each page through the pipelines; a request of a `parse_all` is scheduled."""
        if isinstance(page_or_error, Exception):
            self._say_failure(Failure(page_or_error), trip)  # type: ignore[no-untyped-call]
            return
        is_looked_at = not self._is_quiet or hears_any(OF_ITEMS, self._sender)
        response = self._response(trip) if is_looked_at else None
        for item in iter_errback(page_or_error, self._say_failure, trip):
            if isinstance(item, Request):
                self._engine.crawl(item)
            elif item is not None:
                await self._scraper.start_itemproc_async(item, response=response)

    def tell_received(self, trip: Trip) -> None:
        """Log an answer and send its signal, as Scrapy's engine does, if anything listens."""
        if self._is_quiet and not has_listener(signals.response_received, self._sender):
            return
        response = self._response(trip)
        said = self._formatter.crawled(response.request, response, self._spider)
        if said is not None:
            engine_logger.log(*logformatter_adapter(said), extra={"spider": self._spider})
        self.send(signals.response_received, response=response, request=response.request)

    def send(self, signal: object, **values: Any) -> None:
        """Send a signal of the spider's."""
        self._signals.send_catch_log(signal=signal, spider=self._spider, **values)

    def finish(self, trip: Trip) -> None:
        """Book a trip."""
        self._requests.pop(trip, None)
        self._finished(trip)

    def _say_failure(self, failure: Failure, trip: Trip) -> None:
        """Have Scrapy log and count the failure, and send its signal."""
        response = self._response(trip)
        self._scraper.handle_spider_error(failure, response.request, response)  # type: ignore[arg-type]

    def _response(self, trip: Trip) -> Response:
        link, exchange = trip.answer()
        response = Response(
            exchange.url, exchange.status, body=exchange.body, request=self.request_of(link, trip)
        )
        for judge in self._judges:
            response = judge(trip, response)
        return response

    def request_of(self, link: Link, trip: Trip) -> Request:
        """Return the request of a page: the same object for all signals until it is finished."""
        if trip not in self._requests:
            self._requests[trip] = self.request(link, trip)
        return self._requests[trip]

    def request(self, link: Link, trip: Trip) -> Request:
        """Make the request of a page."""
        raise NotImplementedError


class FetchingSteps(PagesThroughScrapy):
    """The steps of a crawl that fetches."""

    def __init__(
        self,
        crawler: Crawler,
        downloader: FrontierDownloader,
        engine: EngineHandle,
        giving: RequestSource,
        robots: RobotsRequests,
        finished: Callable[[Trip], None],
        fail: Callable[[Exception], None],
    ) -> None:
        super().__init__(crawler, engine, finished, fail, downloader.moments.judge)
        self._downloader = downloader
        self._giving = giving
        self._robots = robots
        network = downloader.network
        http = downloader.handlers.by_scheme["http"]
        self._fetching = Fetching(
            {
                "http": network.http,
                "https": network.http,
                "ftp": network.ftp,
                "gopher": network.gopher,
            },
            downloader.outcomes,
            downloader.running,
            giving.headers,
            robots.conditions,
            downloader.moments.ahead,
            downloader.moments.requests,
            downloader.inline.turns,
            downloader.count,
            downloader.on_lack,
            whole=isinstance(http, HttpHandler) and http.wants_whole_pages,
            since=downloader.since,
            proxies=proxies_of(crawler.settings),
        )

    def request(self, link: Link, trip: Trip) -> Request:
        return self._giving.request(link, trip)

    def may_fetch(self) -> bool:
        engine = self._engine
        return engine.running and not engine.paused and not self._downloader.needs_backout()

    def take(self) -> Trip | None:
        trip = self._giving.trip()
        if trip is not None:
            # It has a slot from now on, as a request that Scrapy's engine has given out
            self._downloader.active.add(trip)
        return trip

    async def fetch(self, trip: Trip) -> bool:
        try:
            if hears_any(OF_DOWNLOADS, self._sender):
                return await self._fetch_aloud(trip, link_of(trip))
            return await self._fetching.fetch(trip, link_of(trip))
        finally:
            self._downloader.active.discard(trip)

    async def _fetch_aloud(self, trip: Trip, link: Link) -> bool:
        """Fetch, and send the signals of Scrapy's downloader."""
        request = self.request_of(link, trip)
        self.send(signals.request_reached_downloader, request=request)
        try:
            has_answer = await self._fetching.fetch(trip, link)
            if has_answer:
                self.send(
                    signals.response_downloaded, request=request, response=self._response(trip)
                )
            return has_answer
        finally:
            self.send(signals.request_left_downloader, request=request)

    def hear(self, trip: Trip) -> PageOrError:
        self.tell_received(trip)
        return self._robots.pages_of(trip)
