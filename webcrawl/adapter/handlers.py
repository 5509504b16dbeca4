"""Download handlers: they take a Scrapy request, let one of the crawl's clients fetch it, and return a response."""

from __future__ import annotations

from functools import cached_property
from ipaddress import ip_address

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.trip import trip_of
from webcrawl.model import Exchange
from webcrawl.net.errors import ConnectFailed, ConnectTimeout, DnsFailed, FetchError, TimedOut, TlsTimeout
from webcrawl.net.network import Network
from webcrawl.net.protocols import ProtocolModule

# The exceptions of Scrapy that errbacks expect; the first match counts
ERRORS: tuple[tuple[type[FetchError], type[Exception]], ...] = (
    (DnsFailed, CannotResolveHostError),
    (ConnectTimeout, DownloadTimeoutError),
    (TlsTimeout, DownloadTimeoutError),
    (ConnectFailed, DownloadConnectionRefusedError),
    (TimedOut, DownloadTimeoutError),
    (FetchError, DownloadFailedError),
)


class HttpHandler(BaseDownloadHandler):
    """http and https. The bytes of the exchange are in the request's trip.

    Handlers of other protocols say only which module speaks theirs.
    """

    def module(self, network: Network) -> ProtocolModule:
        """The protocol module that fetches this handler's URLs."""
        return network.http

    @cached_property
    def _client(self) -> ProtocolModule:
        return self.module(downloader_of(self.crawler).network)

    @cached_property
    def _makes_pages(self) -> bool:
        return getattr(self.crawler.spider, "makes_pages", False)

    async def download_request(self, request: Request) -> Response:
        headers = [(name, value) for name, values in request.headers.items() for value in values]
        trip = trip_of(request)
        keep = trip.keep if trip is not None else 0.0
        try:
            exchange = await self._client.fetch(
                request.url, headers, keep=keep, method=request.method, body=request.body, watch=trip
            )
        except FetchError as error:
            self._count([f"outcome/{error.name}"])
            raise next(known for ours, known in ERRORS if isinstance(error, ours))(str(error)) from error
        if trip is not None:
            trip.exchange = exchange
        if exchange.truncated or exchange.flaws:
            truncated = [f"truncated/{exchange.truncated}"] if exchange.truncated else []
            self._count([*truncated, *(f"flaw/{flaw}" for flaw in exchange.flaws)])
        if self._makes_pages:  # of the exchange, which has all that is in a response
            return Response(exchange.url, exchange.status, body=exchange.body, request=request)
        return to_response(exchange, request)

    def _count(self, names: list[str]) -> None:
        """Counts, in the crawl's own counters, under the names of docs/hostile.md."""
        scheduler_of(self.crawler).crawl.count(names)


class FtpHandler(HttpHandler):
    """ftp: files, and listings as pages of links."""

    def module(self, network: Network) -> ProtocolModule:
        return network.ftp


class GopherHandler(HttpHandler):
    """gopher: files, and menus as pages of links."""

    def module(self, network: Network) -> ProtocolModule:
        return network.gopher


def to_response(exchange: Exchange, request: Request) -> Response:
    """The answer in Scrapy's form; its body is decoded, whatever its headers say of a content coding."""
    headers = Headers()
    for name, value in exchange.headers:
        headers.appendlist(name, value)
    kind = responsetypes.from_args(headers=headers, url=exchange.url, body=exchange.body)
    flags = [f"truncated/{exchange.truncated}"] if exchange.truncated else []
    address = ip_address(exchange.ip) if exchange.ip else None
    return kind(exchange.url, exchange.status, headers, exchange.body, flags=flags, request=request, ip_address=address)
