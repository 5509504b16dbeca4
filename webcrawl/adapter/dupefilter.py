"""Scrapy's dupefilter: the seen store behind one method."""

from __future__ import annotations

import logging
from typing import Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest

from webcrawl.adapter.request_counts import DuplicateRequest
from webcrawl.adapter.request_links import is_start, start_variant, variant
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.crawl.discovery import Offered

logger = logging.getLogger(__name__)


class SeenFilter(BaseDupeFilter):
    """Reports every request as seen: the seen store hands new ones to the frontier itself, later.

    IgnoreRequest is raised for one that will not come, DuplicateRequest if that is because it is known.
    """

    hands_over = True  # what it reports as seen is not lost

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._is_told = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def log(self, request: Request, spider: Spider) -> None:
        """Log the first duplicate, as Scrapy does; the stats count all."""
        if not self._is_told:
            self._is_told = True
            line = "Filtered duplicate request: %s - no more duplicates will be shown"
            logger.debug(line, request, extra={"spider": spider})

    def request_seen(self, request: Request) -> bool:
        scheduler = scheduler_of(self._crawler)
        link = scheduler.link_of(request)
        kind = variant(request)
        own = start_variant(link, request) if is_start(request) else kind
        filtered = scheduler.crawl.parts.pipeline.filtered
        before = dict(filtered)
        offered = scheduler.crawl.parts.discovery.offer(link, own, *({kind} - {own}))
        if offered is Offered.KNOWN:
            raise DuplicateRequest
        if offered is Offered.FILTERED:
            name = next((name for name, urls in filtered.items() if urls != before.get(name)), "")
            raise IgnoreRequest(f"left out by the filter {name} of URL_FILTERS")
        return True
