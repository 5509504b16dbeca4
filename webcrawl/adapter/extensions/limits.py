"""Scrapy's CLOSESPIDER_… limits, which may change while the crawl runs."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import defaultdict
from typing import Any, Self, cast

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.closespider import CloseSpider
from scrapy.utils.asyncio import call_later

from webcrawl.adapter.crawl_end import close_spider
from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.control.in_force import OF_LIMITS

TIMEOUT = "CLOSESPIDER_TIMEOUT"


class Limits(CloseSpider):
    """Scrapy's own limits; where none is set, it hears nothing of pages and items.

    What is counted, is counted from when there is a limit; seconds are those of the run.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._begun = time.monotonic()
        # Scrapy's class leaves itself out where no limit is set; one may be set while the crawl runs
        with contextlib.suppress(NotConfigured):
            super().__init__(crawler)
        # limits that Scrapy's class knows of
        self._heard = {name for name in OF_LIMITS if self.close_on[_key(name)]}
        if not self._heard:
            self.counter: defaultdict[str, int] = defaultdict(int)
            crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(self.opened, signal=signals.spider_opened)

    def opened(self) -> None:
        # Under another scheduler nothing changes
        with contextlib.suppress(NotConfigured):
            scheduler_of(self.crawler).crawl.parts.in_force.listen(OF_LIMITS, self._change)

    def _change(self, values: CheckedSettings) -> None:
        hears = {
            "CLOSESPIDER_PAGECOUNT": (self.page_count, signals.response_received),
            "CLOSESPIDER_ITEMCOUNT": (self.item_scraped, signals.item_scraped),
            "CLOSESPIDER_ERRORCOUNT": (self.error_count, signals.spider_error),
        }
        for name in OF_LIMITS:
            key = _key(name)
            most: float = cast("dict[str, Any]", values).get(name) or 0
            if most == self.close_on[key]:
                continue
            self.close_on[key] = most
            if name == TIMEOUT:
                self._end_after(most)
            elif most and name not in self._heard:
                self._heard.add(name)
                # A limit of pages without items may have counted before
                self.counter[key] = 0
                self.crawler.signals.connect(hears[name][0], signal=hears[name][1])
            # Scrapy's class waits for exactly that number
            elif 0 < most <= self.counter[key]:
                close_spider(self.crawler, f"closespider_{key}")

    def _end_after(self, seconds: float) -> None:
        if self.task:
            self.task.cancel()
            self.task = None
        if seconds:
            left = max(seconds - (time.monotonic() - self._begun), 0.0)
            self.task = call_later(left, close_spider, self.crawler, "closespider_timeout")


def _key(name: str) -> str:
    """Return the name of a limit in Scrapy's class."""
    return name.removeprefix("CLOSESPIDER_").lower()


logger = logging.getLogger(__name__)

REASON = "closespider_bytes"


class ByteLimit:
    """Hears the end of each URL once there is a limit: a crawl without one pays nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._most = 0
        self._hears = False
        self._over = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_opening(crawler, cls(crawler))

    def opened(self) -> None:
        self._crawl = scheduler_of(self._crawler).crawl
        self._crawl.parts.in_force.listen(["CLOSESPIDER_BYTES"], self._change)

    def _change(self, values: CheckedSettings) -> None:
        self._most = values["CLOSESPIDER_BYTES"]
        if self._most and not self._hears:
            self._hears = True
            self._crawl.parts.log.hearers.append(self._hear)
        self._look()

    def _hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        # They are counted already
        del link, outcome, exchange
        self._look()

    def _look(self) -> None:
        received = self._crawl.parts.counters["bytes"]
        if not self._most or received < self._most or self._over:
            return
        self._over = True
        logger.info(
            "CLOSESPIDER_BYTES = %d: the crawl stops after %d bytes; resume it with a larger number",
            self._most,
            received,
        )
        close_spider(self._crawler, REASON)
