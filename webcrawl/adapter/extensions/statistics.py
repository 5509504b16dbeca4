"""The crawl's counters, in stats.json and in Scrapy's stats, at every checkpoint and at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.crawl.stats_writing import StatsWriting


class Statistics:
    """Writes stats.json, and sets Scrapy's stats, at every checkpoint and at the end.

    Scrapy's stats also get the counters of Scrapy's own scheduler and dupefilter.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._makes_pages = getattr(crawler.spidercls, "makes_pages", False)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_opening(crawler, cls(crawler))

    def opened(self) -> None:
        """Begin to write the counters at each checkpoint."""
        # Not earlier, because opening may fail
        self._crawler.signals.connect(self.closed, signals.spider_closed)
        run = scheduler_of(self._crawler).run
        self._writing = StatsWriting(
            run,
            Path(values_of(self._crawler)["JOBDIR"]),
            self._unexpected_errors,
            self._set_scrapys_stats,
        )
        self._writing.begin()

    def closed(self, reason: str) -> None:
        self._writing.save(scheduler_of(self._crawler).end_reason(reason))

    def _unexpected_errors(self) -> int:
        return int(self._crawler.stats.get_value("errors/unexpected", 0))

    def _set_scrapys_stats(self, figures: dict[str, object]) -> None:
        """Set Scrapy's stats to these figures, and to the counters of Scrapy's own components."""
        stats = self._crawler.stats
        scheduler = scheduler_of(self._crawler)
        for name, value in figures.items():
            stats.set_value(f"webcrawl/{name}", value)
        for name, counted in scheduler.counts.stats(scheduler.crawl, pages=self._makes_pages):
            # Scrapy has no counters of what has not happened
            if counted:
                stats.set_value(name, counted)
