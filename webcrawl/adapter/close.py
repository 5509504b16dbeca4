"""Ending a crawl from inside."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro


def close_spider(crawler: Crawler, reason: str) -> None:
    """Ends the crawl as soon as the requests under way are done; a second call changes nothing."""
    if crawler.engine is not None and crawler.engine.spider is not None:
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
