"""The download handlers of DOWNLOAD_HANDLERS, and the checks of those that are not webcrawl's own.

A handler that connects without the address guard must be allowed by name. Its responses become
exchanges, and its exceptions become errors of ours.
"""

from __future__ import annotations

import asyncio
import codecs
import inspect
import re
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple

from scrapy import Request, signals
from scrapy.core.downloader.handlers import DownloadHandlerProtocol
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured, StopDownload, UnsupportedURLSchemeError
from scrapy.http import Response, TextResponse
from scrapy.settings import BaseSettings
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.python import global_object_name

from webcrawl.adapter.cached_responses import headers_of_decoded, with_body
from webcrawl.adapter.download_errors import error_of, is_lack_of_ours, scrapys_error_of
from webcrawl.adapter.request_trip import trip_of
from webcrawl.base.model import Exchange, Timings
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.crawl_settings import OFF
from webcrawl.content.html.encodings import UTF_8, encoding_of
from webcrawl.crawl.crawl_log import flaws_of
from webcrawl.net.codings import UnknownCoding, decoder, most_coded
from webcrawl.net.errors import FetchError
from webcrawl.net.http_framing import status_line
from webcrawl.net.protocols import Clock
from webcrawl.net.shortage import Shortage
from webcrawl.urls.canonical import SCHEMES

GRACE_SECONDS = 1.0  # seconds that a handler gets beyond its own time limit
# scrapy-playwright flags a response whose body is a browser's document
RENDERED_FLAG = "playwright"
TOO_LONG = "length"  # WARC's reason for a truncated body
# WARC's reason by Scrapy's flag of a response
TRUNCATED_BY_FLAG = {"download_stopped": TOO_LONG, "dataloss": "disconnect"}


class ForeignHandler:
    """Wraps a handler of FOREIGN_HANDLERS_ALLOWED, which uses neither our address guard nor resolver.

    The crawl's own handler fetches robots.txt, which must be neither rendered nor cached.
    """

    lazy = False

    def __init__(
        self,
        crawler: Crawler,
        foreign: DownloadHandlerProtocol,
        own_handler: DownloadHandlerProtocol | None,
        values: CheckedSettings,
        shortage: Shortage,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._crawler = crawler
        self._foreign = foreign
        self._own_handler = own_handler
        self._shortage = shortage
        self._name = global_object_name(type(foreign))
        self._agent = values["USER_AGENT"]
        self._timeout = values["DOWNLOAD_TIMEOUT"]
        self._truncate = values["DOWNLOAD_TRUNCATE"]
        self._received: dict[Request, int] = {}
        crawler.signals.connect(self._bytes_received, signals.bytes_received)

    async def download_request(self, request: Request) -> Response:
        """Return the response with its body decoded; the exchange is in the request's trip.

        Raise the exception of Scrapy's that stands for a failure. An exception that no server can
        have caused is raised as it is.
        """
        trip = trip_of(request)
        if trip is not None and trip.is_prerequisite and self._own_handler is not None:
            return await self._own_handler.download_request(request)
        # Scrapy's middlewares have set both, unless they are switched off
        request.headers.setdefault(b"User-Agent", self._agent)
        seconds = float(request.meta.setdefault("download_timeout", self._timeout))
        started = time.time()
        clock_start = self._clock()
        # Before the handler gets the request, because it does not say when it sends it
        self._call_sent_hooks(request, trip)
        self._received[request] = 0
        try:
            async with asyncio.timeout(seconds + GRACE_SECONDS):
                response = await self._foreign.download_request(request)
        except Exception as error:
            if is_lack_of_ours(error):
                fetch_error: FetchError | None = self._shortage.begins(error)
            else:
                fetch_error = error_of(error)
            if fetch_error is None:
                raise
            self._count([f"outcome/{fetch_error.name}"])
            raise scrapys_error_of(fetch_error) from fetch_error
        finally:
            del self._received[request]
        exchange = self._exchange(response, started, self._clock() - clock_start)
        if trip is not None:
            trip.exchange = exchange
        if exchange.truncated or exchange.flaws:
            self._count(flaws_of(exchange))
        return _decoded(response, exchange)

    async def close(self) -> None:
        await self._foreign.close()

    def _exchange(self, response: Response, started: float, seconds: float) -> Exchange:
        """Return the exchange of a response, as far as the handler lets it be known."""
        exchange = _parsed_answer(response).exchange(
            made_by=self._name, started=started, seconds=seconds, truncate=self._truncate
        )
        if RENDERED_FLAG in response.flags and isinstance(response, TextResponse):
            document = document_of(response.text, exchange)[: self._truncate]
            # The browser shows neither the head nor the payload
            exchange = replace(
                exchange, head=b"", wire=b"", payload=document, body=document, rendered=True
            )
        return exchange

    def _bytes_received(self, data: bytes, request: Request) -> None:
        """Stop a body larger than can be kept.

        Scrapy's handlers would hold DOWNLOAD_MAXSIZE, 1 GiB.
        """
        if request in self._received:
            self._received[request] += len(data)
            if self._received[request] > most_coded(self._truncate):
                raise StopDownload(fail=False)

    def _call_sent_hooks(self, request: Request, trip: Any) -> None:
        """Call the hooks for a request that is about to be sent. Raise Scrapy's exception if a hook fails.

        The handler may still change the request.
        """
        downloader: Any = self._crawler.engine.downloader
        try:
            link = trip.link if trip is not None else None
            downloader.hooks.requests.tell_sent(request, request.method, request.url, link)
        except FetchError as error:
            raise scrapys_error_of(error) from error

    def _count(self, names: list[str]) -> None:
        """Count in the crawl's own counters, as its own handlers do."""
        downloader: Any = self._crawler.engine.downloader
        downloader.count(names)


def document_of(text: str, exchange: Exchange) -> bytes:
    """Return a browser's document in UTF-8, with a byte order mark if readers need one to know."""
    data = text.encode(UTF_8, "replace")
    read_as = encoding_of(data, exchange.content_type, exchange.url)
    return data if read_as == UTF_8 else codecs.BOM_UTF8 + data


def _parsed_answer(response: Response) -> ParsedAnswer:
    """Return the parts of a response of another handler's."""
    headers: list[tuple[bytes, bytes]] = []
    for name, values in response.headers.items():
        for value in values:
            # Playwright joins the values of a repeated header by line feeds
            headers += [(name, single_value) for single_value in value.split(b"\n")]
    address: IPv4Address | IPv6Address | None = response.ip_address
    reasons = (TRUNCATED_BY_FLAG[flag] for flag in response.flags if flag in TRUNCATED_BY_FLAG)
    return ParsedAnswer(
        url=response.url,
        status=response.status,
        headers=headers,
        payload=response.body,
        ip=str(address) if address is not None else "",
        protocol=response.protocol or "",
        truncated=next(reasons, ""),
    )


def _decoded(response: Response, exchange: Exchange) -> Response:
    """Return the response with the body of the exchange, which is decoded and not too long."""
    if response.body == exchange.body:
        return response
    return with_body(
        response, exchange.body, headers=headers_of_decoded(response.headers, exchange)
    )


DownloadFunction = Callable[[Request], Awaitable[Response]]


class UnusableHandler(Exception):  # noqa: N818 - reads as what it is
    """A handler of DOWNLOAD_HANDLERS must not or cannot be used. The message is one line."""


def check_handlers(settings: BaseSettings, allowed: Collection[str]) -> None:
    """Raise UnusableHandler if a handler connects without the address guard and is not allowed.

    Only handlers for the crawl's own schemes are checked, because no page can name a URL of another
    one; data:, file: and s3: are up to the spider's author. A handler that is allowed by name is
    not imported here: importing may install a reactor, which Scrapy chooses later.
    """
    for scheme, path in _handler_paths(settings).items():
        if scheme not in SCHEMES or _path_of(path) in allowed:
            continue
        if not getattr(_load(path), "guarded", False):
            raise UnusableHandler(
                f"DOWNLOAD_HANDLERS: {_path_of(path)} ({scheme}) connects without the address guard; "
                "to use it anyway, add it to FOREIGN_HANDLERS_ALLOWED (docs/policies.md#download-handlers)"
            )


class CrawlDownloadHandlers:
    """The download handlers by scheme, in place of Scrapy's DownloadHandlers.

    All handlers are built at the start, so that the crawl does not begin if one cannot be built.
    Schemes with the same handler share one instance, and so one browser.
    """

    def __init__(
        self, crawler: Crawler, values: CheckedSettings, shortage: Shortage, clock: Clock
    ) -> None:
        settings = crawler.settings
        check_handlers(settings, values["FOREIGN_HANDLERS_ALLOWED"])
        own_handlers = settings.getdict("DOWNLOAD_HANDLERS_BASE")
        self._built: dict[str, DownloadHandlerProtocol] = {}
        self.by_scheme: dict[str, DownloadHandlerProtocol] = {}
        self._download: dict[str, DownloadFunction] = {}
        handlers = _handler_paths(settings)
        if values["RENDER"] != OFF:
            from webcrawl.adapter.rendering_check import with_rendering_handler  # noqa: PLC0415 - other crawls need no browser

            handlers = with_rendering_handler(handlers)
        for scheme, path in handlers.items():
            try:
                handler = self._build(crawler, path)
            except NotConfigured:
                # Such as s3 without boto3, which matters only to a project that uses it
                if scheme in SCHEMES:
                    raise UnusableHandler(
                        f"DOWNLOAD_HANDLERS: {_path_of(path)} cannot be used"
                    ) from None
                continue
            if scheme in SCHEMES and not getattr(handler, "guarded", False):
                own_handler = (
                    self._build(crawler, own_handlers[scheme]) if own_handlers.get(scheme) else None
                )
                handler = ForeignHandler(crawler, handler, own_handler, values, shortage, clock)
            self.by_scheme[scheme] = handler
            self._download[scheme] = handler.download_request
        crawler.signals.connect(self._close, signals.engine_stopped)

    def download_request_async(self, request: Request) -> Awaitable[Response]:
        """Return an awaitable of the response, from the handler of the URL's scheme.

        Raise UnsupportedURLSchemeError if the scheme has no handler.
        """
        scheme = request.url.partition(":")[0]
        download = self._download.get(scheme)
        if download is None:
            raise UnsupportedURLSchemeError(f"{scheme}: no download handler is set for this scheme")
        return download(request)

    def _build(self, crawler: Crawler, path: Any) -> DownloadHandlerProtocol:
        """Return the handler of a class or dotted path, built once.

        Raise UnusableHandler if it cannot be built or has not the interface of Scrapy 2.14, and
        NotConfigured if it says so itself.
        """
        name = _path_of(path)
        if name not in self._built:
            try:
                handler: DownloadHandlerProtocol = build_from_crawler(_load(path), crawler)
            except (UnusableHandler, NotConfigured):
                raise
            except Exception as error:
                raise UnusableHandler(
                    f"DOWNLOAD_HANDLERS: {name} cannot be used: {error!r}"
                ) from error
            if not inspect.iscoroutinefunction(getattr(handler, "download_request", None)):
                raise UnusableHandler(
                    f"DOWNLOAD_HANDLERS: {name} must have a coroutine download_request, as in Scrapy 2.14"
                )
            self._built[name] = handler
        return self._built[name]

    async def _close(self) -> None:
        for handler in self._built.values():
            await handler.close()


def _handler_paths(settings: BaseSettings) -> dict[str, Any]:
    """Return the classes or dotted paths of DOWNLOAD_HANDLERS by scheme."""
    paths = settings.getwithbase("DOWNLOAD_HANDLERS")
    return {str(scheme): path for scheme, path in paths.items() if path is not None}


def _path_of(path: Any) -> str:
    return path if isinstance(path, str) else global_object_name(path)


def _load(path: Any) -> Any:
    try:
        return load_object(path)
    except Exception as error:
        # A foreign module may raise anything while it is imported
        raise UnusableHandler(
            f"DOWNLOAD_HANDLERS: {_path_of(path)} cannot be imported: {error}"
        ) from error


_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2, token
_LINE_BREAKS = re.compile(rb"[\r\n\0]+")
# Of the message on the wire; the kept payload has a length of its own
_FRAMING_FIELDS = frozenset((b"transfer-encoding", b"content-length"))


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer as another project's client has parsed it.

    The payload is still in its content coding, and without its transfer coding.
    """

    url: str
    status: int
    headers: list[tuple[bytes, bytes]]
    payload: bytes
    ip: str = ""
    protocol: str = ""  # such as HTTP/1.1 or h2
    truncated: str = ""  # WARC's reason, empty for a whole payload

    def exchange(self, *, made_by: str, started: float, seconds: float, truncate: int) -> Exchange:
        """Return the exchange, with a head composed from the headers.

        `truncate` is the number of bytes of the decoded body that are kept.
        """
        kept = _bounded_body(self.payload, _content_codings(self.headers), truncate)
        return Exchange(
            url=self.url,
            request=b"",  # what was sent is not known
            status=self.status,
            head=_head(self.status, self.headers, len(kept.payload)),
            headers=self.headers,
            wire=kept.payload,
            payload=kept.payload,
            body=kept.body,
            ip=self.ip,
            started=started,
            timings=Timings(total=seconds),
            truncated=self.truncated or (TOO_LONG if kept.is_truncated else ""),
            flaws=kept.flaws,
            made_by=made_by,
            protocol=self.protocol,
        )


class BoundedBody(NamedTuple):
    """The parts of an answer's payload and of its decoded body that are kept."""

    payload: bytes
    body: bytes
    is_truncated: bool  # one of the two was longer than what is kept
    flaws: tuple[str, ...] = ()  # names of what is wrong with the coding


def _bounded_body(payload: bytes, codings: list[bytes], limit: int) -> BoundedBody:
    """Decode a payload, and keep at most `limit` bytes of its body."""
    try:
        decoding = decoder(codings, limit)
    except UnknownCoding:
        # The label may be wrong, and the payload may be text
        return _uncoded_body(payload, limit, flaws=("unknown_coding",))
    if decoding is None:
        return _uncoded_body(payload, limit)
    kept = payload[: most_coded(limit)]
    is_truncated = len(kept) < len(payload)
    if not kept:
        return BoundedBody(kept, kept, is_truncated)
    decoding.feed(kept)
    # A payload that was truncated here lacks its end, which is no flaw of its coding
    if not is_truncated:
        decoding.finish()
    flaws = ("coding",) if decoding.broken else ()
    has_wrong_label = decoding.broken and not decoding.started
    if has_wrong_label:
        # The payload may be plain text
        return BoundedBody(kept, kept[:limit], is_truncated or len(kept) > limit, flaws)
    return BoundedBody(kept, decoding.body, is_truncated or decoding.full, flaws)


def _uncoded_body(payload: bytes, limit: int, *, flaws: tuple[str, ...] = ()) -> BoundedBody:
    """Keep `limit` bytes of a payload as its body: it has no coding, or an unknown one."""
    kept = payload[:limit]
    return BoundedBody(kept, kept, len(kept) < len(payload), flaws)


def _content_codings(headers: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Return the content codings in the order in which they were applied."""
    values = b",".join(value for name, value in headers if name.lower() == b"content-encoding")
    return [token for part in values.lower().split(b",") if (token := part.strip())]


def _head(status: int, headers: list[tuple[bytes, bytes]], length: int) -> bytes:
    """Return a head in the form of HTTP/1.1, which all readers of archives know.

    Fields that cannot stand in such a head are left out.
    """
    lines = [status_line(status)]
    for name, value in headers:
        if _TOKEN.fullmatch(name) and name.lower() not in _FRAMING_FIELDS:
            lines.append(b"%b: %b\r\n" % (name, _LINE_BREAKS.sub(b" ", value)))
    return b"".join((*lines, b"Content-Length: %d\r\n\r\n" % length))
