"""Keeps a small history of the crawl's figures (crawl/history.py)."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.crawl import history


class History(history.HistoryKeeper):
    """Adds the crawl's figures to its history at intervals."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(lambda: scheduler_of(crawler).run))
