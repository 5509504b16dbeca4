"""Puts the crawl into Scrapy's engine. Only this package uses the engine's private names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scrapy.core.engine import ExecutionEngine

from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.adapter.fastpath.guest_requests import GuestRequests
from webcrawl.adapter.fastpath.names import check
from webcrawl.adapter.fastpath.signals import shorten_signals
from webcrawl.crawl.trip import Trip


def install(
    engine: ExecutionEngine | None,
    *,
    finished: Callable[[Trip], None],
    closing: Callable[[], Awaitable[None] | None],
    failure: Callable[[], Exception | None],
) -> EngineHandle:
    """Put the crawl into an engine, and return its handle. Call this in the scheduler's `open`.

    `finished` is called when the items of a request have left the pipelines, or its failure was
    handled. `closing` and `failure` are those of EngineHandle. Raise ForeignScrapy if the installed
    Scrapy lacks a private name that is used here.
    """
    check()
    handle = EngineHandle(engine, closing, failure)
    handle.guests = GuestRequests(handle, finished)
    shorten_signals(handle.engine.crawler.signals)
    handle.watch_opening()
    return handle
