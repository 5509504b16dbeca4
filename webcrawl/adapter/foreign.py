"""Download handlers of somebody else's: what they give becomes an exchange, what they raise an error of ours."""

from __future__ import annotations

import asyncio
import codecs
import time
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from scrapy import Request, signals
from scrapy.core.downloader.handlers import DownloadHandlerProtocol
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Response, TextResponse
from scrapy.responsetypes import responsetypes
from scrapy.utils.python import global_object_name

from webcrawl.adapter.errors import error_of, lacks, raised
from webcrawl.adapter.trip import trip_of
from webcrawl.html.encoding import encoding_of
from webcrawl.html.encodings import UTF_8
from webcrawl.model import Exchange
from webcrawl.net.errors import FetchError
from webcrawl.net.parsed_answer import SLACK, ParsedAnswer
from webcrawl.net.shortage import Shortage

GRACE = 1.0  # seconds that a handler gets beyond its own time limit
RENDERED = "playwright"  # scrapy-playwright's flag of a response whose body is a browser's document
CUT = {"download_stopped": "length", "dataloss": "disconnect"}  # Scrapy's flags, and WARC's reasons


class ForeignHandler:
    """A handler that FOREIGN_HANDLERS_ALLOWED names: it does not go through the address guard, nor use our resolver.

    robots.txt is fetched by the crawl's own handler: it must be neither rendered nor cached.
    """

    lazy = False

    def __init__(
        self,
        crawler: Crawler,
        theirs: DownloadHandlerProtocol,
        own: DownloadHandlerProtocol | None,
        values: Mapping[str, Any],
        shortage: Shortage,
    ) -> None:
        self._crawler, self._theirs, self._own, self._shortage = crawler, theirs, own, shortage
        self._name = global_object_name(type(theirs))
        self._agent, self._timeout = values["USER_AGENT"], values["DOWNLOAD_TIMEOUT"]
        self._truncate = values["DOWNLOAD_TRUNCATE"]
        self._received: dict[Request, int] = {}
        crawler.signals.connect(self._bytes_received, signals.bytes_received)

    async def download_request(self, request: Request) -> Response:
        """The response, its body decoded; the exchange is in the request's trip."""
        trip = trip_of(request)
        if trip is not None and trip.is_prerequisite and self._own is not None:
            return await self._own.download_request(request)
        request.headers.setdefault(b"User-Agent", self._agent)  # where Scrapy's middleware is switched off
        seconds = float(request.meta.setdefault("download_timeout", self._timeout))
        started, begun = time.time(), time.monotonic()
        self._tell(request, trip)
        self._received[request] = 0
        try:
            async with asyncio.timeout(seconds + GRACE):
                response = await self._theirs.download_request(request)
        except Exception as error:
            ours = self._shortage.begins(error) if lacks(error) else error_of(error)
            if ours is None:
                raise
            self._count([f"outcome/{ours.name}"])
            raise raised(ours) from ours
        finally:
            del self._received[request]
        exchange = self._exchange(response, started, time.monotonic() - begun)
        if trip is not None:
            trip.exchange = exchange
        if exchange.truncated or exchange.flaws:
            truncated = [f"truncated/{exchange.truncated}"] if exchange.truncated else []
            self._count([*truncated, *(f"flaw/{flaw}" for flaw in exchange.flaws)])
        return _decoded(response, exchange)

    async def close(self) -> None:
        await self._theirs.close()

    def _exchange(self, response: Response, started: float, seconds: float) -> Exchange:
        exchange = _answer(response).exchange(
            made_by=self._name, started=started, seconds=seconds, truncate=self._truncate
        )
        if RENDERED in response.flags and isinstance(response, TextResponse):
            document = document_of(response.text, exchange)[: self._truncate]
            # Neither the head nor the payload is known: the document is all there is.
            exchange = replace(exchange, head=b"", wire=b"", payload=document, body=document, rendered=True)
        return exchange

    def _bytes_received(self, data: bytes, request: Request) -> None:
        """Stops a body that is larger than can be kept: Scrapy's handlers would hold up to DOWNLOAD_MAXSIZE, 1 GiB."""
        if request in self._received:
            self._received[request] += len(data)
            if self._received[request] > 2 * self._truncate + SLACK:
                raise StopDownload(fail=False)

    def _tell(self, request: Request, trip: Any) -> None:
        """Whoever wants to know of each request: what the handler makes of it is not known."""
        downloader: Any = self._crawler.engine.downloader if self._crawler.engine else None
        if getattr(downloader, "on_send", None) is not None:
            try:
                downloader.on_send(request, trip)
            except FetchError as error:
                raise raised(error) from error

    def _count(self, names: list[str]) -> None:
        """Counts as the crawl's own handlers do."""
        scheduler: Any = self._crawler.engine.scheduler if self._crawler.engine else None  # its module imports this one
        scheduler.crawl.count(names)


def document_of(text: str, exchange: Exchange) -> bytes:
    """A browser's document in UTF-8, marked as that where header or markup would have it read in another encoding."""
    data = text.encode(UTF_8, "replace")
    read_as = encoding_of(data, exchange.content_type, exchange.url)
    return data if read_as == UTF_8 else codecs.BOM_UTF8 + data


def _answer(response: Response) -> ParsedAnswer:
    headers = [(name, one) for name, values in response.headers.items() for value in values for one in _lines(value)]
    address: IPv4Address | IPv6Address | None = response.ip_address
    return ParsedAnswer(
        url=response.url,
        status=response.status,
        headers=headers,
        payload=response.body,
        ip=str(address) if address is not None else "",
        protocol=response.protocol or "",
        truncated=next((CUT[flag] for flag in response.flags if flag in CUT), ""),
    )


def _lines(value: bytes) -> list[bytes]:
    """Playwright joins the values of a repeated header by line feeds."""
    return value.split(b"\n")


def _decoded(response: Response, exchange: Exchange) -> Response:
    """The response with the body that the exchange has; as of our own handlers, whatever its headers say of codings."""
    if response.body == exchange.body:
        return response
    kind = responsetypes.from_args(headers=response.headers, url=response.url, body=exchange.body)
    return response.replace(body=exchange.body, cls=kind)
