"""The three things that Scrapy's engine has no public word for, in one place.

All concern its slot, which exists from the scheduler's `open` on (Scrapy 2.19, core/engine.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro


def _slot(crawler: Crawler) -> Any:
    slot = crawler.engine._slot if crawler.engine else None  # noqa: SLF001
    if slot is None:
        raise RuntimeError("the engine has no slot before the scheduler is opened")
    return slot


def is_closing(crawler: Crawler) -> bool:
    """Whether the spider is being closed, or is closed."""
    slot = crawler.engine._slot if crawler.engine else None  # noqa: SLF001
    return slot is None or slot.closing is not None


def wake(crawler: Crawler) -> None:
    """Makes the engine ask the scheduler again, at once: by itself it asks when a request ends, or every 5 seconds."""
    if not is_closing(crawler):
        _slot(crawler).nextcall.schedule()


def on_closing(crawler: Crawler, closing: Callable[[], None]) -> None:
    """Calls `closing` when the spider begins to close: it waits for its requests before it tells anybody."""
    slot = _slot(crawler)
    close = slot.close

    def tell_and_close() -> Any:
        closing()
        return close()

    slot.close = tell_and_close


def close(crawler: Crawler, reason: str) -> None:
    """Ends the crawl, now; once is enough."""
    if crawler.engine is not None and not is_closing(crawler):
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
