"""Lets a reader follow the logs while the crawl runs (crawl/following.py)."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.crawl import following


class Following(following.Following):
    """Writes the buffered lines of logs to disk once a second."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(lambda: scheduler_of(crawler).run))
