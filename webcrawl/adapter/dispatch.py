"""Which download handler fetches a request. One that goes round the address guard must be allowed by name."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from scrapy import Request, signals
from scrapy.core.downloader.handlers import DownloadHandlerProtocol
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured, UnsupportedURLSchemeError
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.python import global_object_name

from webcrawl.adapter.foreign import ForeignHandler
from webcrawl.net.shortage import Shortage
from webcrawl.urls.canonical import SCHEMES

Download = Callable[[Request], Awaitable[Response]]


class UnusableHandler(Exception):  # noqa: N818 - reads as what it is
    """A handler of DOWNLOAD_HANDLERS may not be used, or cannot be; the message is one line."""


def check_handlers(settings: BaseSettings, allowed: Collection[str]) -> None:
    """Raises UnusableHandler if a handler goes round the guard without being allowed.

    No page can name a URL of another scheme than the crawl's: those of a spider's own (data:, file:, s3:) are its
    author's business. Does not import what is allowed by name: importing may install a reactor, and Scrapy chooses the
    reactor later.
    """
    for scheme, path in _handlers(settings).items():
        if scheme in SCHEMES and _name(path) not in allowed and not getattr(_load(path), "guarded", False):
            raise UnusableHandler(
                f"DOWNLOAD_HANDLERS: {_name(path)} ({scheme}) connects without the address guard; "
                "to use it nevertheless, name it in FOREIGN_HANDLERS_ALLOWED (docs/extending.md)"
            )


class Handlers:
    """Has the part of Scrapy's DownloadHandlers that a downloader needs.

    All handlers are built at the start: the crawl does not begin if one cannot be. Schemes with the same handler share
    one instance, and so one browser.
    """

    def __init__(self, crawler: Crawler, values: Mapping[str, Any], shortage: Shortage) -> None:
        settings = crawler.settings
        check_handlers(settings, values["FOREIGN_HANDLERS_ALLOWED"])
        own = settings.getdict("DOWNLOAD_HANDLERS_BASE")
        self._built: dict[str, DownloadHandlerProtocol] = {}
        self._download: dict[str, Download] = {}
        for scheme, path in _handlers(settings).items():
            try:
                handler = self._build(crawler, path)
            except NotConfigured:  # s3 without boto3, in a project that does not use it
                if scheme in SCHEMES:
                    raise UnusableHandler(f"DOWNLOAD_HANDLERS: {_name(path)} cannot be used") from None
                continue
            if scheme in SCHEMES and not getattr(handler, "guarded", False):
                ours = self._build(crawler, own[scheme]) if own.get(scheme) else None
                handler = ForeignHandler(crawler, handler, ours, values, shortage)
            self._download[scheme] = handler.download_request
        crawler.signals.connect(self._close, signals.engine_stopped)

    def download_request_async(self, request: Request) -> Awaitable[Response]:
        """The response, by the handler of the URL's scheme."""
        scheme = request.url.partition(":")[0]
        download = self._download.get(scheme)
        if download is None:
            raise UnsupportedURLSchemeError(f"{scheme}: no handler is set for it")
        return download(request)

    def _build(self, crawler: Crawler, path: Any) -> DownloadHandlerProtocol:
        name = _name(path)
        if name not in self._built:
            try:
                handler: DownloadHandlerProtocol = build_from_crawler(_load(path), crawler)
            except (UnusableHandler, NotConfigured):
                raise
            except Exception as error:
                raise UnusableHandler(f"DOWNLOAD_HANDLERS: {name} cannot be used: {error!r}") from error
            if not inspect.iscoroutinefunction(getattr(handler, "download_request", None)):
                raise UnusableHandler(
                    f"DOWNLOAD_HANDLERS: {name} has no coroutine download_request, as Scrapy 2.14 has"
                )
            self._built[name] = handler
        return self._built[name]

    async def _close(self) -> None:
        for handler in self._built.values():
            await handler.close()


def _handlers(settings: BaseSettings) -> dict[str, Any]:
    found = settings.getwithbase("DOWNLOAD_HANDLERS")
    return {str(scheme): path for scheme, path in found.items() if path is not None}


def _name(path: Any) -> str:
    return path if isinstance(path, str) else global_object_name(path)


def _load(path: Any) -> Any:
    try:
        return load_object(path)
    except Exception as error:  # a foreign module may raise anything while it is imported
        raise UnusableHandler(f"DOWNLOAD_HANDLERS: {_name(path)} cannot be imported: {error}") from error
