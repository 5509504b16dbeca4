"""Scrapy's dupefilter: the seen store behind one method."""

from __future__ import annotations

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest

from webcrawl.adapter.request_links import is_start, start_variant, variant
from webcrawl.adapter.scheduler import scheduler_of


class SeenFilter(BaseDupeFilter):
    """Reports every request as seen: the seen store hands new ones to the frontier itself, later.

    IgnoreRequest is raised for one that will not come.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def request_seen(self, request: Request) -> bool:
        scheduler = scheduler_of(self._crawler)
        link, kind = scheduler.link_of(request), variant(request)
        own = start_variant(link, request) if is_start(request) else kind
        filtered = scheduler.crawl.parts.pipeline.filtered
        before = dict(filtered)
        if not scheduler.crawl.parts.discovery.submit(link, own, *({kind} - {own})):
            name = next((name for name, urls in filtered.items() if urls != before.get(name)), "")
            raise IgnoreRequest(f"left out by the filter {name} of URL_FILTERS")
        return True
