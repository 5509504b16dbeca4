"""Scrapy as the host of the crawl's own loop (crawl/driver.py): how it fetches, and has pages processed.

A request and a response are made only for somebody who looks at them: a listener of a signal about items, an error.
What needs the request of every page, such as a downloader middleware, keeps the crawl on Scrapy's engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import iter_errback
from twisted.python.failure import Failure

from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.adapter.fastpath.engine import Engine
from webcrawl.adapter.handlers import FtpHandler, GopherHandler, HttpHandler
from webcrawl.adapter.listeners import hears_any
from webcrawl.adapter.logformat import QuietLogFormatter
from webcrawl.adapter.request_meta import has_environment_proxy
from webcrawl.adapter.request_passage import Giving
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.base.model import Link
from webcrawl.crawl.driver import Output
from webcrawl.crawl.fetching import Fetching, link_of
from webcrawl.crawl.trip import Trip

OF_REQUESTS = frozenset(  # signals with the request of a page
    (
        signals.request_reached_downloader,
        signals.request_left_downloader,
        signals.response_downloaded,
        signals.response_received,
    )
)
OF_ITEMS = frozenset((signals.item_scraped, signals.item_dropped, signals.item_error))
OURS = {"http": HttpHandler, "https": HttpHandler, "ftp": FtpHandler, "gopher": GopherHandler}


def can_drive(crawler: Crawler) -> bool:
    """Return whether nobody needs the request of every page, so that the crawl's own loop may fetch them."""
    engine = crawler.engine
    if engine is None or type(crawler.logformatter) is not QuietLogFormatter:
        return False
    if getattr(crawler.spider, "has_callbacks", True):
        return False
    middlewares = *engine.scraper.spidermw.methods.values(), *engine.downloader.middleware.methods.values()
    return not any(map(any, middlewares)) and not hears_any(OF_REQUESTS, crawler.signals.sender)


def can_fetch(crawler: Crawler, downloader: FrontierDownloader) -> bool:
    """Return whether the crawl's own clients may fetch every page as it is."""
    if has_environment_proxy(crawler):
        return False
    if downloader.since is not None:
        return False
    handlers = downloader.handlers.by_scheme
    return all(type(handlers.get(scheme)) is kind for scheme, kind in OURS.items())


class PagesThroughScrapy:
    """What the steps of every crawl that makes pages have in common: Scrapy's scraper takes pages to the pipelines."""

    def __init__(
        self,
        crawler: Crawler,
        engine: Engine,
        finished: Callable[[Trip], None],
        fail: Callable[[Exception], None],
        judges: Sequence[Callable[[Trip, Response], Response]] = (),
    ) -> None:
        """`judges`: what others may have of a response."""
        self._judges = judges
        self._engine, self._scraper = engine.engine, engine.engine.scraper
        self.rest, self.give_up = engine.wake, engine.give_up_pages
        self._sender = crawler.signals.sender
        self.finish, self.fail = finished, fail
        self._spider: Any = crawler.spider

    def visit(self, trips: Sequence[Trip]) -> list[Output]:
        """A subclass that has a `parse_all` of its own gets responses; nobody else needs them."""
        if self._spider.has_parse_all:
            return list(self._spider.parse_all([self._response(trip) for trip in trips]))
        pages: list[Output] = self._spider.making.pages(trips)
        return pages

    async def process(self, trip: Trip, output: Output) -> None:
        """Each page goes through the pipelines; a request of a `parse_all` is scheduled."""
        if isinstance(output, Exception):
            self._say_failure(Failure(output), trip)  # type: ignore[no-untyped-call]
            return
        response = self._response(trip) if hears_any(OF_ITEMS, self._sender) else None
        for item in iter_errback(output, self._say_failure, trip):
            if isinstance(item, Request):
                self._engine.crawl(item)
            elif item is not None:
                await self._scraper.start_itemproc_async(item, response=response)

    def _say_failure(self, failure: Failure, trip: Trip) -> None:
        """Scrapy logs it, counts it and sends its signal."""
        response = self._response(trip)
        self._scraper.handle_spider_error(failure, response.request, response)  # type: ignore[arg-type]

    def _response(self, trip: Trip) -> Response:
        link, exchange = trip.answer()
        response = Response(exchange.url, exchange.status, body=exchange.body, request=self.request(link, trip))
        for judge in self._judges:
            response = judge(trip, response)
        return response

    def request(self, link: Link, trip: Trip) -> Request:
        """The request of a page, for whoever looks."""
        raise NotImplementedError


class FetchingSteps(PagesThroughScrapy):
    """The steps of a crawl that fetches."""

    def __init__(
        self,
        crawler: Crawler,
        downloader: FrontierDownloader,
        engine: Engine,
        giving: Giving,
        robots: RobotsRequests,
        finished: Callable[[Trip], None],
        fail: Callable[[Exception], None],
    ) -> None:
        super().__init__(crawler, engine, finished, fail, downloader.moments.judge)
        self._downloader, self._giving, self._robots = downloader, giving, robots
        network, http = downloader.network, downloader.handlers.by_scheme["http"]
        self._fetching = Fetching(
            {"http": network.http, "https": network.http, "ftp": network.ftp, "gopher": network.gopher},
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
        )

    def request(self, link: Link, trip: Trip) -> Request:
        return self._giving.request(link, trip)

    def may_begin(self) -> bool:
        engine = self._engine
        return engine.running and not engine.paused and not self._downloader.needs_backout()

    def take(self) -> Trip | None:
        trip = self._giving.trip(as_request=hears_any(OF_REQUESTS, self._sender))
        if trip is not None:
            self._downloader.active.add(trip)
        return trip

    async def fetch(self, trip: Trip) -> bool:
        try:
            return await self._fetching.fetch(trip, link_of(trip))
        finally:
            self._downloader.active.discard(trip)

    def hear(self, trip: Trip) -> Output:
        return self._robots.pages_of(trip)
