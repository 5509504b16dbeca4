"""Download handlers: one of the crawl's clients fetches what a Scrapy request asks for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cached_property, partial
from ipaddress import ip_address
from typing import Any, NamedTuple, NoReturn

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from webcrawl.adapter.cached_responses import headers_of_decoded
from webcrawl.adapter.download_errors import scrapys_error_of
from webcrawl.adapter.downloader import FrontierDownloader, downloader_of
from webcrawl.adapter.request_meta import RequestOptions
from webcrawl.adapter.request_trip import trip_of
from webcrawl.adapter.user_settings import is_given
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Exchange, is_sitemap
from webcrawl.crawl.crawl_log import flaws_of
from webcrawl.crawl.download_outcomes import WHOLE
from webcrawl.crawl.fetching import LOST, Sending
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import BadOption, FetchError
from webcrawl.net.network import Network
from webcrawl.net.protocols import PLAIN, ProtocolModule

logger = logging.getLogger(__name__)

MAX_WARNINGS = 100  # lines about options that no client has, one for each option and value

Render = Callable[[Request, Trip | None, Exchange], Awaitable[None]]


class BodyRules(NamedTuple):
    """The user's settings about bodies. The meta of a request overrides them."""

    must_be_whole: bool  # DOWNLOAD_FAIL_ON_DATALOSS
    warning_size: int  # DOWNLOAD_WARNSIZE: a larger body is logged; 0: none is


class HttpHandler(BaseDownloadHandler):
    """Downloads http and https by the crawl's own client, and keeps the exchange in the trip.

    A subclass for another protocol overrides `module`.
    """

    # Every connection is opened by net/connection_reach.py, which asks the address guard
    guarded = True
    render: Render | None = None  # called with each answer, before its response is made

    def module(self, network: Network) -> ProtocolModule:
        """Return the protocol module that fetches this handler's URLs."""
        return network.http

    @cached_property
    def _reported_options(self) -> set[str]:
        return set()

    @cached_property
    def _client(self) -> ProtocolModule:
        return self.module(self._downloader.network)

    @cached_property
    def _downloader(self) -> FrontierDownloader:
        return downloader_of(self.crawler)

    @cached_property
    def _makes_pages_only(self) -> bool:
        spider = self.crawler.spider
        return getattr(spider, "makes_pages", False) and not getattr(spider, "has_callbacks", False)

    @cached_property
    def _options(self) -> RequestOptions:
        return RequestOptions(self.crawler)

    @cached_property
    def wants_whole_pages(self) -> bool:
        """Return whether the user has switched on DOWNLOAD_FAIL_ON_DATALOSS: pages must be whole.

        Scrapy's default has the same value, but for pages it does not count.
        """
        is_chosen = is_given(self.crawler.settings, "DOWNLOAD_FAIL_ON_DATALOSS")
        return self._body_rules.must_be_whole and is_chosen

    @cached_property
    def _body_rules(self) -> BodyRules:
        values = values_of(self.crawler)
        return BodyRules(values["DOWNLOAD_FAIL_ON_DATALOSS"], values["DOWNLOAD_WARNSIZE"])

    async def download_request(self, request: Request) -> Response:
        """Return the response; the exchange is in the request's trip.

        Raise the exception of Scrapy's that stands for a failure.
        """
        trip = trip_of(request)
        exchange = await self._exchange(request, trip)
        if trip is not None:
            trip.exchange = exchange
        if exchange.truncated or exchange.flaws:
            self._count(flaws_of(exchange))
        if self.render is not None:
            await self.render(request, trip, exchange)
        # `web` keeps a body that broke off, unless the user wants whole pages. A download that code
        # awaits is not a page of the spider's.
        is_page = self._makes_pages_only and trip is not None and not trip.inline
        whole = self.wants_whole_pages if is_page else self._body_rules.must_be_whole
        return self._for_spider(exchange, request, whole=whole)

    async def _exchange(self, request: Request, trip: Trip | None) -> Exchange:
        """Fetch the URL, on condition that it has changed if an earlier crawl has its page."""
        headers = [(name, value) for name, values in request.headers.items() for value in values]
        since = self._downloader.since
        is_plain_get = request.method == "GET" and not request.body
        if since is None or trip is None or not is_plain_get:
            return await self._fetch(request, trip, headers)
        # Looked up first, because a condition is sent only if the earlier page can be read
        earlier = await since.latest(trip, request.url, headers)
        if earlier is None:
            return await self._fetch(request, trip, headers)
        exchange = await self._fetch(request, trip, headers + earlier.conditions)
        return since.resolve_answer(trip, earlier, exchange)

    async def _fetch(
        self, request: Request, trip: Trip | None, headers: list[tuple[bytes, bytes]]
    ) -> Exchange:
        """Fetch the URL with these headers. Raise the exception of Scrapy's for a failure."""
        # Most crawls have no hook for sent requests, and the trip itself is the watch
        has_hooks = self._downloader.hooks.requests.sent
        watch = self._sending(request, trip) if has_hooks else trip
        try:
            return await self._client.fetch(
                request.url,
                headers,
                keep=trip.keep if trip is not None else 0.0,
                method=request.method,
                body=request.body,
                watch=watch,
                **self._client_options(request, trip),
            )
        except FetchError as error:
            self._count_failure(error, request.url)
            raise scrapys_error_of(error) from error

    def _sending(self, request: Request, trip: Trip | None) -> Sending:
        """Return a watch that calls the hooks for sent requests, and keeps the trip informed."""
        link = trip.link if trip is not None else None
        requests = self._downloader.hooks.requests
        tell = partial(requests.tell_sent, request, request.method, request.url, link)
        return Sending(trip, tell)

    def _client_options(self, request: Request, trip: Trip | None) -> dict[str, Any]:
        """Return the client's keyword arguments for a request with options, empty for most."""
        options = self._options.of(request)
        link = trip.link if trip is not None else None
        if link is not None and is_sitemap(link.path):
            options = replace(options, long=True)
        return {} if options is PLAIN else {"options": options}

    def _count_failure(self, error: FetchError, url: str) -> None:
        """Count a failure, and warn once of each option that the client does not have."""
        self._count([f"outcome/{error.name}"])
        if not isinstance(error, BadOption):
            return
        is_reported = str(error) in self._reported_options
        if not is_reported and len(self._reported_options) < MAX_WARNINGS:
            self._reported_options.add(str(error))
            logger.warning(
                "%s: requests with this option are not fetched (the first is %s)", error, url
            )

    def _for_spider(self, exchange: Exchange, request: Request, *, whole: bool) -> Response:
        """Return the response, with the latency in its meta, as Scrapy promises.

        `whole`: the body must be whole unless the request's meta says otherwise. Raise the
        exception of Scrapy's if a part is missing.
        """
        meta = request.meta
        # Seconds from the request's last byte to the answer's first
        meta["download_latency"] = exchange.timings.first_byte
        if exchange.truncated in LOST and meta.get(WHOLE, whole):
            self._refuse(exchange)
        size = len(exchange.body)
        warning_size = meta.get("download_warnsize", self._body_rules.warning_size)
        if 0 < warning_size < size:
            logger.warning(
                "%s: %d bytes, more than its warning size of %d", request, size, warning_size
            )
        return to_response(exchange, request)

    def _refuse(self, exchange: Exchange) -> NoReturn:
        """Raise the exception of Scrapy's for an answer that lacks a part."""
        error = LOST[exchange.truncated](f"only {len(exchange.body)} bytes arrived")
        self._count([f"outcome/{error.name}"])
        raise scrapys_error_of(error) from error

    def _count(self, names: list[str]) -> None:
        """Count in the crawl's own counters, under the names of docs/errors.md."""
        self._downloader.count(names)


class FtpHandler(HttpHandler):
    """Downloads ftp: files, and listings as pages of links."""

    def module(self, network: Network) -> ProtocolModule:
        return network.ftp


class GopherHandler(HttpHandler):
    """Downloads gopher: files, and menus as pages of links."""

    def module(self, network: Network) -> ProtocolModule:
        return network.gopher


def to_response(exchange: Exchange, request: Request) -> Response:
    """Return Scrapy's response for an exchange, with the decoded body."""
    headers = Headers()
    for name, value in exchange.headers:
        headers.appendlist(name, value)
    headers = headers_of_decoded(headers, exchange)
    kind = responsetypes.from_args(headers=headers, url=exchange.url, body=exchange.body)
    flags = [f"truncated/{exchange.truncated}"] if exchange.truncated else []
    if exchange.truncated in LOST:
        # The flag is Scrapy's
        flags.append("dataloss")
    return kind(
        exchange.url,
        exchange.status,
        headers,
        exchange.body,
        flags=flags,
        request=request,
        ip_address=ip_address(exchange.ip) if exchange.ip else None,
        protocol=exchange.protocol or exchange.head[:8].decode("latin-1") or None,
    )
