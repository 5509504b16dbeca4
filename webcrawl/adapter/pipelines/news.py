"""Drops what is no news after the archive: bodies seen before, unchanged pages, robots.txt, walls, what is withheld."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from webcrawl.adapter.values import values_of
from webcrawl.base.page_values import Change
from webcrawl.content.page import Page


class NewsPipeline:
    """Runs between the archive and the processing modules. With CONTENT_SEEN=process duplicates pass.

    Pages that were fetched again and have not changed pass if a pipeline asks for them (adapter/fastpath/items.py).
    """

    wanted = False  # whether any does

    def __init__(self, *, skip_seen: bool) -> None:
        self._skip_seen = skip_seen

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(skip_seen=values_of(crawler)["CONTENT_SEEN"] == "skip")

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page):
            if item.is_prerequisite:
                raise DropItem("robots.txt")
            if item.exchange is not None and item.exchange.withheld is not None:
                raise DropItem("its owner does not want it kept")
            if item.duplicate and self._skip_seen:
                raise DropItem("seen under another URL")
            if item.is_none:
                raise DropItem(item.recognised or "a probe")
            if item.change is Change.UNCHANGED and not self.wanted:
                raise DropItem("unchanged")
        return item
