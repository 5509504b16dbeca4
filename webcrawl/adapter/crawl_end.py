"""The end of a crawl: how to bring it about from inside, and which ends are failures."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

# Reasons; `start_error` is Scrapy's, for a `start` that raised: what it had not yet asked for is not in the crawl.
BROKEN = frozenset({"browser_failed", "error_breaker", "no_seeds", "start_error", "store_failed"})
FINISHED = "finished"  # Scrapy's: nothing is left to do
HURRIED = frozenset(("shutdown", "stopped"))  # by a signal (Scrapy's) or by command: within seconds


class EndedBadly(Exception):  # noqa: N818 - reads as what it is
    """Raised to whoever waits for a crawl that ended for one of these reasons, so that its process fails too."""


def close_spider(crawler: Crawler, reason: str) -> None:
    """Ends the crawl as soon as the requests under way are done; a second call changes nothing."""
    if crawler.engine is not None and crawler.engine.spider is not None:
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
