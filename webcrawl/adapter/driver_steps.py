"""The steps of the crawl's own loop (crawl/driver.py) in a Scrapy process.

Scrapy's engine makes five tasks, two queues and about ten Deferreds for each request, so that
middlewares can change what a callback yields: a crawl that makes pages needs none of that. A
request and a response are made only for a listener of a signal, a log formatter or an error.
OF_ENGINE says what keeps a crawl on Scrapy's engine.
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
from webcrawl.adapter.listeners import has_any_listener, has_listener
from webcrawl.adapter.logformat import QuietLogFormatter
from webcrawl.adapter.request_meta import proxies_of
from webcrawl.adapter.request_passage import RequestSource
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.base.model import Link
from webcrawl.crawl.driver import PageOrError
from webcrawl.crawl.fetching import Fetching, link_of
from webcrawl.crawl.trip import Trip

engine_logger = logging.getLogger("scrapy.core.engine")  # where Scrapy logs responses

DOWNLOAD_SIGNALS = frozenset(
    (
        signals.request_reached_downloader,
        signals.request_left_downloader,
        signals.response_downloaded,
    )
)
ITEM_SIGNALS = frozenset((signals.item_scraped, signals.item_dropped, signals.item_error))
OWN_HANDLERS = {
    "http": HttpHandler,
    "https": HttpHandler,
    "ftp": FtpHandler,
    "gopher": GopherHandler,
}


def _has_callbacks(crawler: Crawler) -> bool:
    return getattr(crawler.spider, "has_callbacks", True)


def _has_downloader_middlewares(crawler: Crawler) -> bool:
    return any(crawler.engine.downloader.middleware.methods.values())


def _has_spider_middlewares(crawler: Crawler) -> bool:
    return any(crawler.engine.scraper.spidermw.methods.values())


def _has_other_handlers(crawler: Crawler) -> bool:
    downloader: object = crawler.engine.downloader
    handlers: CrawlDownloadHandlers | None = getattr(downloader, "handlers", None)
    # This run reads archives
    if handlers is None:
        return False
    return any(
        type(handlers.by_scheme.get(scheme)) is not kind for scheme, kind in OWN_HANDLERS.items()
    )


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


def reason_for_engine(crawler: Crawler) -> str:
    """Return why only Scrapy's engine can run this crawl, or an empty string if its own loop can."""
    return next((reason for applies, reason in OF_ENGINE if applies(crawler)), "")


class ScraperSteps:
    """The steps that all crawls share: Scrapy's scraper takes pages to the pipelines.

    Each step behaves as `Steps` in crawl/driver.py says.
    """

    def __init__(
        self,
        crawler: Crawler,
        engine: EngineHandle,
        book_trip: Callable[[Trip], None],
        fail: Callable[[Exception], None],
        answer_filters: Sequence[Callable[[Trip, Response], Response]] = (),
    ) -> None:
        """`book_trip` is called at the end of each trip. `fail` ends the crawl.

        `answer_filters` return what listeners of signals may have of a response.
        """
        self._answer_filters = answer_filters
        self._engine = engine.engine
        self._scraper = engine.engine.scraper
        self.be_idle = engine.wake
        self.give_up = engine.give_up_pages
        self._signals = crawler.signals
        self._sender = crawler.signals.sender
        self.fail = fail
        self._book_trip = book_trip
        self._spider: Any = crawler.spider
        self._formatter: Any = crawler.logformatter
        self._is_quiet = type(self._formatter) is QuietLogFormatter
        # Requests that signals or the log have shown, until their pages are finished
        self._requests: dict[Trip, Request] = {}

    def visit(self, trips: Sequence[Trip]) -> list[PageOrError]:
        """Return the pages of these answers, or the error of each that has none.

        Responses are made only for a spider with a `parse_all` of its own.
        """
        for trip in trips:
            self.report_received(trip)
        if self._spider.has_parse_all:
            return list(self._spider.parse_all([self._response(trip) for trip in trips]))
        pages: list[PageOrError] = self._spider.page_maker.pages(trips)
        return pages

    async def process(self, trip: Trip, page_or_error: PageOrError) -> None:
        """Take the pages of an answer through the pipelines.

        A request that a spider's `parse_all` yields is scheduled. An error is reported as Scrapy
        reports one of a callback.
        """
        if isinstance(page_or_error, Exception):
            self._report_failure(Failure(page_or_error), trip)  # type: ignore[no-untyped-call]
            return
        is_response_needed = not self._is_quiet or has_any_listener(ITEM_SIGNALS, self._sender)
        response = self._response(trip) if is_response_needed else None
        for item in iter_errback(page_or_error, self._report_failure, trip):
            if isinstance(item, Request):
                self._engine.crawl(item)
            elif item is not None:
                await self._scraper.start_itemproc_async(item, response=response)

    def report_received(self, trip: Trip) -> None:
        """Log an answer and send `response_received`, as Scrapy's engine does.

        Nothing happens if the log is quiet and no listener is connected.
        """
        if self._is_quiet and not has_listener(signals.response_received, self._sender):
            return
        response = self._response(trip)
        entry = self._formatter.crawled(response.request, response, self._spider)
        if entry is not None:
            engine_logger.log(*logformatter_adapter(entry), extra={"spider": self._spider})
        self.send(signals.response_received, response=response, request=response.request)

    def send(self, signal: object, **values: Any) -> None:
        """Send a signal in the spider's name. Errors of its listeners are only logged."""
        self._signals.send_catch_log(signal=signal, spider=self._spider, **values)

    def finish(self, trip: Trip) -> None:
        """Book a trip, and forget the request that was shown for it."""
        self._requests.pop(trip, None)
        self._book_trip(trip)

    def _report_failure(self, failure: Failure, trip: Trip) -> None:
        """Have Scrapy log and count the failure, and send `spider_error`."""
        response = self._response(trip)
        self._scraper.handle_spider_error(failure, response.request, response)  # type: ignore[arg-type]

    def _response(self, trip: Trip) -> Response:
        """Return a bare response for listeners and formatters: URL, status and body."""
        link, exchange = trip.answer()
        response = Response(
            exchange.url, exchange.status, body=exchange.body, request=self.request_of(link, trip)
        )
        for answer_filter in self._answer_filters:
            response = answer_filter(trip, response)
        return response

    def request_of(self, link: Link, trip: Trip) -> Request:
        """Return the request of a page: the same object for all signals until the page is finished."""
        if trip not in self._requests:
            self._requests[trip] = self.request(link, trip)
        return self._requests[trip]

    def request(self, link: Link, trip: Trip) -> Request:
        """Return a new request for a link. Subclasses say how it is made."""
        raise NotImplementedError


class FetchingSteps(ScraperSteps):
    """The steps of a crawl that fetches what its frontier hands out."""

    def __init__(
        self,
        crawler: Crawler,
        downloader: FrontierDownloader,
        engine: EngineHandle,
        source: RequestSource,
        robots: RobotsRequests,
        book_trip: Callable[[Trip], None],
        fail: Callable[[Exception], None],
    ) -> None:
        super().__init__(crawler, engine, book_trip, fail, downloader.hooks.answer_filters)
        self._downloader = downloader
        self._source = source
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
            headers=source.headers,
            headers_of_robots=robots.conditions,
            readers_ahead=downloader.hooks.readers_ahead,
            hooks=downloader.hooks.requests,
            count=downloader.count,
            on_lack=downloader.on_lack,
            turns=downloader.inline.turns,
            since=downloader.since,
            proxies=proxies_of(crawler.settings),
            whole=isinstance(http, HttpHandler) and http.wants_whole_pages,
        )

    def request(self, link: Link, trip: Trip) -> Request:
        return self._source.request(link, trip)

    def may_fetch(self) -> bool:
        engine = self._engine
        return engine.running and not engine.paused and not self._downloader.needs_backout()

    def next_trip(self) -> Trip | None:
        """Return the next trip and give it a slot, or None if none is due."""
        trip = self._source.trip()
        if trip is not None:
            # As Scrapy's engine counts a request that it has handed out
            self._downloader.active.add(trip)
        return trip

    async def fetch(self, trip: Trip) -> bool:
        """Fetch the URL, and free the slot. Return whether there is an answer."""
        try:
            if has_any_listener(DOWNLOAD_SIGNALS, self._sender):
                return await self._fetch_with_signals(trip, link_of(trip))
            return await self._fetching.fetch(trip, link_of(trip))
        finally:
            self._downloader.active.discard(trip)

    async def _fetch_with_signals(self, trip: Trip, link: Link) -> bool:
        """Fetch as `fetch` does, and send the three signals of Scrapy's downloader."""
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

    def visit_own(self, trip: Trip) -> PageOrError:
        self.report_received(trip)
        return self._robots.pages_of(trip)
