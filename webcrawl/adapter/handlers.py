"""Download handlers: they take a Scrapy request, let one of the crawl's clients fetch it, and
return a response.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cached_property, partial
from ipaddress import ip_address
from typing import Any, NoReturn

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from webcrawl.adapter.cached_responses import headers_of_decoded
from webcrawl.adapter.download_errors import raised
from webcrawl.adapter.downloader import FrontierDownloader, downloader_of
from webcrawl.adapter.request_meta import RequestOptions
from webcrawl.adapter.trip import trip_of
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

MOST = 100  # lines about requests that ask for what there is not

Render = Callable[[Request, Trip | None, Exchange], Awaitable[None]]


class HttpHandler(BaseDownloadHandler):
    """http and https. The bytes of the exchange are in the request's trip.

    Handlers of other protocols say only which module speaks theirs.
    """

    # every connection is opened by net/connection_reach.py, which asks the address guard
    guarded = True
    render: Render | None = None  # called with each answer, before there is a response

    def module(self, network: Network) -> ProtocolModule:
        """The protocol module that fetches this handler's URLs."""
        return network.http

    @cached_property
    def _refused(self) -> set[str]:
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
        """True if the user wants the spider's pages whole or not at all; Scrapy's default is no
        word of the user's.
        """
        return self._limits[0] and is_given(self.crawler.settings, "DOWNLOAD_FAIL_ON_DATALOSS")

    @cached_property
    def _limits(self) -> tuple[bool, int]:
        """True if a body must be whole, with the size from which on the log has a line."""
        values = values_of(self.crawler)
        return values["DOWNLOAD_FAIL_ON_DATALOSS"], values["DOWNLOAD_WARNSIZE"]

    async def download_request(self, request: Request) -> Response:
        trip = trip_of(request)
        headers = [(name, value) for name, values in request.headers.items() for value in values]
        keep = trip.keep if trip is not None else 0.0
        watch: Trip | Sending | None = trip
        heard = self._downloader.moments.requests
        if heard.sent:
            link = trip.link if trip is not None else None
            watch = Sending(
                trip, partial(heard.tell_sent, request, request.method, request.url, link)
            )
        since = self._downloader.since
        known = None
        if since is not None and trip is not None and request.method == "GET" and not request.body:
            known = await since.latest(trip, request.url, headers)
        if known is not None:
            headers += known.conditions
        try:
            exchange = await self._client.fetch(
                request.url,
                headers,
                keep=keep,
                method=request.method,
                body=request.body,
                watch=watch,
                **self._more(request, trip),
            )
        except FetchError as error:
            self._failed(error, request.url)
            raise raised(error) from error
        if since is not None and trip is not None and known is not None:
            exchange = since.answered(trip, known, exchange)
        if trip is not None:
            trip.exchange = exchange
        if exchange.truncated or exchange.flaws:
            self._count(flaws_of(exchange))
        if self.render is not None:
            await self.render(request, trip, exchange)
        is_page = self._makes_pages_only and trip is not None and not trip.inline
        return self._for_spider(
            exchange, request, whole=self.wants_whole_pages if is_page else self._limits[0]
        )

    def _more(self, request: Request, trip: Trip | None) -> dict[str, Any]:
        """What else the client is told, of a request that is not like most."""
        options = self._options.of(request)
        if trip is not None and trip.link is not None and is_sitemap(trip.link.path):
            options = replace(options, long=True)
        return {} if options is PLAIN else {"options": options}

    def _failed(self, error: FetchError, url: str) -> None:
        self._count([f"outcome/{error.name}"])
        if (
            isinstance(error, BadOption)
            and str(error) not in self._refused
            and len(self._refused) < MOST
        ):
            self._refused.add(str(error))
            logger.warning("%s: not fetched, like every request with the same (%s)", error, url)

    def _for_spider(self, exchange: Exchange, request: Request, *, whole: bool) -> Response:
        """The answer as Scrapy promises it: timed, and whole unless the spider wants it anyway.

        `whole`: whether it has to be, if the request does not say.
        """
        meta, large = request.meta, self._limits[1]
        meta["download_latency"] = exchange.timings.first_byte
        if exchange.truncated in LOST and meta.get(WHOLE, whole):
            self._refuse(exchange)
        if 0 < (size := meta.get("download_warnsize", large)) < len(exchange.body):
            logger.warning(
                "%s: %d bytes, more than its warning size of %d", request, len(exchange.body), size
            )
        return to_response(exchange, request)

    def _refuse(self, exchange: Exchange) -> NoReturn:
        """Fails for an answer of which a part is missing."""
        error = LOST[exchange.truncated](f"{len(exchange.body)} bytes of it came")
        self._count([f"outcome/{error.name}"])
        raise raised(error) from error

    def _count(self, names: list[str]) -> None:
        """Counts, in the crawl's own counters, under the names of docs/hostile.md."""
        self._downloader.count(names)


class FtpHandler(HttpHandler):
    """ftp: files, and listings as pages of links."""

    def module(self, network: Network) -> ProtocolModule:
        return network.ftp


class GopherHandler(HttpHandler):
    """gopher: files, and menus as pages of links."""

    def module(self, network: Network) -> ProtocolModule:
        return network.gopher


def to_response(exchange: Exchange, request: Request) -> Response:
    """The answer in Scrapy's form, with its body decoded."""
    headers = Headers()
    for name, value in exchange.headers:
        headers.appendlist(name, value)
    headers = headers_of_decoded(headers, exchange)
    kind = responsetypes.from_args(headers=headers, url=exchange.url, body=exchange.body)
    flags = [f"truncated/{exchange.truncated}"] if exchange.truncated else []
    if exchange.truncated in LOST:
        flags.append("dataloss")  # Scrapy's word
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
