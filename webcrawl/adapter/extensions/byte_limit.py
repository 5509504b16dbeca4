"""Ends the crawl when it has received CLOSESPIDER_BYTES, over all its runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.crawl_end import close_spider
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.base.model import Exchange, Link, Outcome

logger = logging.getLogger(__name__)

REASON = "closespider_bytes"


class ByteLimit:
    """Hears the end of each URL, but only once there is a limit: a crawl without one pays nothing for this."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._most = 0
        self._hears = self._over = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.opened, signals.spider_opened)
        return extension

    def opened(self) -> None:
        self._crawl = scheduler_of(self._crawler).crawl
        self._crawl.parts.in_force.listen(["CLOSESPIDER_BYTES"], self._change)

    def _change(self, values: Mapping[str, Any]) -> None:
        self._most = values["CLOSESPIDER_BYTES"]
        if self._most and not self._hears:
            self._hears = True
            self._crawl.parts.log.hearers.append(self._hear)
        self._look()

    def _hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        del link, outcome, exchange  # they are counted already
        self._look()

    def _look(self) -> None:
        received = self._crawl.parts.counters["bytes"]
        if not self._most or received < self._most or self._over:
            return
        self._over = True
        logger.info("CLOSESPIDER_BYTES = %d: %d bytes were received; a larger number goes on", self._most, received)
        close_spider(self._crawler, REASON)
