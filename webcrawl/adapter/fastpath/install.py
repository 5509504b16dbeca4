"""Takes part in Scrapy's engine; nothing else uses its private names."""

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
    """Take part in an engine; call it in the scheduler's `open`.

    `finished` is called when a request is entirely done: its items have left the pipelines, or its
    failure is handled. Scrapy has no signal for that. `closing` is called when the spider begins to
    close, which waits for what it returns, and `failure` when all is over: what it returns is
    raised where the crawl was started. Raise ForeignScrapy if the installed Scrapy lacks a private
    name that is used here.
    """
    check()
    handle = EngineHandle(engine, closing, failure)
    handle.guests = GuestRequests(handle, finished)
    shorten_signals(handle.engine.crawler.signals)
    return handle
