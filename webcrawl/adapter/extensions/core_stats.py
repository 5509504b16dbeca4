"""Scrapy's counters of items and answers, for spiders whose users know them."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.corestats import CoreStats


class SpidersCoreStats(CoreStats):
    """Not for `web` and its like, whose pages the crawl counts: listening costs three signals per page."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider = crawler.spidercls
        if getattr(spider, "makes_pages", False) and not getattr(spider, "has_callbacks", False):
            raise NotConfigured
        return super().from_crawler(crawler)
