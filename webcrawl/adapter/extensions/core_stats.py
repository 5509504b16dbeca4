"""Scrapy's counters of items and answers, under the names that monitors know."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.corestats import CoreStats

from webcrawl.adapter.scheduler import scheduler_of


class SpidersCoreStats(CoreStats):
    """Chooses between Scrapy's own CoreStats, and PagesCoreStats for a spider that only makes pages."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CoreStats:  # type: ignore[override]
        spider = crawler.spidercls
        if getattr(spider, "makes_pages", False) and not getattr(spider, "has_callbacks", False):
            return PagesCoreStats(crawler)
        return super().from_crawler(crawler)


class PagesCoreStats(CoreStats):
    """Copies the crawl's counters at every checkpoint, because listening costs three signals per page."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler.stats)
        self._crawler = crawler
        self._counters: Mapping[str, int] = {}
        self._counters_before: Mapping[str, int] = {}  # those of earlier runs
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    def spider_opened(self, spider: Spider) -> None:
        super().spider_opened(spider)
        # Under another scheduler nothing is counted
        with contextlib.suppress(NotConfigured):
            scheduler = scheduler_of(self._crawler)
            self._counters = scheduler.crawl.parts.counters
            self._counters_before = dict(self._counters)
            scheduler.keeping.taken.append(self.copy)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        # None if the crawl could not start
        if self.start_time is not None:
            super().spider_closed(spider, reason)
            self.copy()

    def copy(self) -> None:
        """Set Scrapy's stats to the present counters of the crawl."""
        items = self._crawler.engine.scraper.itemproc
        self._set("item_scraped_count", getattr(items, "scraped", 0))
        self._set("response_received_count", self._of_this_run("answers"))
        for name in self._counters:
            kind, _, status = name.partition("/")
            if kind == "status":
                self._set(f"downloader/response_status_count/{status}", self._of_this_run(name))

    def _of_this_run(self, name: str) -> int:
        return self._counters.get(name, 0) - self._counters_before.get(name, 0)

    def _set(self, name: str, value: int) -> None:
        # Scrapy has no counters of what has not happened
        if value:
            self.stats.set_value(name, value)
