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
    """Submits each request to the seen store, which hands a new one to the frontier itself, later.

    So `request_seen` reports every request as seen. It raises IgnoreRequest for a request that is
    dropped.
    """

    hands_over = True  # a request that is reported as seen is not lost

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._is_duplicate_logged = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def log(self, request: Request, spider: Spider) -> None:
        """Log the first duplicate, as Scrapy does; the stats count all."""
        if not self._is_duplicate_logged:
            self._is_duplicate_logged = True
            line = "Filtered duplicate request: %s - no more duplicates will be shown"
            logger.debug(line, request, extra={"spider": spider})

    def request_seen(self, request: Request) -> bool:
        """Submit a request to the filters and the seen store, and return True.

        Raise DuplicateRequest if its URL is known, or IgnoreRequest with the name of the filter
        that has refused it.
        """
        scheduler = scheduler_of(self._crawler)
        link = scheduler.link_of(request)
        kind = variant(request)
        own_kind = start_variant(link, request) if is_start(request) else kind
        filtered = scheduler.crawl.parts.pipeline.filtered
        filtered_before = dict(filtered)
        other_kinds = {kind} - {own_kind}
        offered = scheduler.crawl.parts.discovery.offer(link, own_kind, *other_kinds)
        if offered is Offered.KNOWN:
            raise DuplicateRequest
        if offered is Offered.FILTERED:
            # The filter whose counter has changed is the one that has refused the link
            name = next(
                (name for name, urls in filtered.items() if urls != filtered_before.get(name)), ""
            )
            raise IgnoreRequest(f"left out by the filter {name} of URL_FILTERS")
        return True
