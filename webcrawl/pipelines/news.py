"""Drops pages that are not new after the archive: bodies seen before, and the crawl's own robots.txt."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from webcrawl.adapter.values import values_of
from webcrawl.items import Page


class NewsPipeline:
    """Runs between the archive and the processing modules. With CONTENT_SEEN=process duplicates pass."""

    def __init__(self, *, skip_seen: bool) -> None:
        self._skip_seen = skip_seen

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(skip_seen=values_of(crawler)["CONTENT_SEEN"] == "skip")

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page):
            if item.is_prerequisite:
                raise DropItem("robots.txt")
            if item.duplicate and self._skip_seen:
                raise DropItem("seen under another URL")
        return item
