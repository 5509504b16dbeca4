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
    """Scrapy's own limits, which commands may change.

    Pages, items and errors are counted from the time at which they get a limit, because a crawl
    without one should not pay for it. Seconds are those of the run.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._run_start = time.monotonic()
        # Scrapy's class leaves itself out where no limit is set; one may be set while the crawl
        # runs
        with contextlib.suppress(NotConfigured):
            super().__init__(crawler)
        # Limits for which signals are connected
        self._counted = {name for name in OF_LIMITS if self.close_on[_key(name)]}
        if not self._counted:
            self.counter: defaultdict[str, int] = defaultdict(int)
            crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(self.opened, signal=signals.spider_opened)

    def opened(self) -> None:
        # Under another scheduler no command changes the settings
        with contextlib.suppress(NotConfigured):
            scheduler_of(self.crawler).crawl.parts.in_force.listen(OF_LIMITS, self._change)

    def _change(self, values: CheckedSettings) -> None:
        """Apply the limits that have changed. Close the spider if one is exceeded already."""
        listeners = {
            "CLOSESPIDER_PAGECOUNT": (self.page_count, signals.response_received),
            "CLOSESPIDER_ITEMCOUNT": (self.item_scraped, signals.item_scraped),
            "CLOSESPIDER_ERRORCOUNT": (self.error_count, signals.spider_error),
        }
        for name in OF_LIMITS:
            key = _key(name)
            limit: float = cast("dict[str, Any]", values).get(name) or 0
            if limit == self.close_on[key]:
                continue
            self.close_on[key] = limit
            if name == TIMEOUT:
                self._set_timeout(limit)
            elif limit and name not in self._counted:
                self._counted.add(name)
                # Scrapy may have counted this for its limit of pages without items
                self.counter[key] = 0
                listener, signal = listeners[name]
                self.crawler.signals.connect(listener, signal=signal)
            # Scrapy's class would wait for exactly this number, which has passed
            elif 0 < limit <= self.counter[key]:
                close_spider(self.crawler, f"closespider_{key}")

    def _set_timeout(self, seconds: float) -> None:
        """Close the spider this many seconds after the begin of the run; 0: do not."""
        if self.task:
            self.task.cancel()
            self.task = None
        if seconds:
            seconds_left = max(seconds - (time.monotonic() - self._run_start), 0.0)
            self.task = call_later(seconds_left, close_spider, self.crawler, "closespider_timeout")


def _key(name: str) -> str:
    """Return the name of a limit in Scrapy's class."""
    return name.removeprefix("CLOSESPIDER_").lower()


logger = logging.getLogger(__name__)

BYTES_REASON = "closespider_bytes"


class ByteLimit:
    """Ends the crawl after CLOSESPIDER_BYTES.

    It is called at the end of each URL once there is a limit, so that a crawl without one pays
    nothing.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._max_bytes = 0
        self._is_listening = False
        self._has_ended = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_opening(crawler, cls(crawler))

    def opened(self) -> None:
        self._crawl = scheduler_of(self._crawler).crawl
        self._crawl.parts.in_force.listen(["CLOSESPIDER_BYTES"], self._change)

    def _change(self, values: CheckedSettings) -> None:
        self._max_bytes = values["CLOSESPIDER_BYTES"]
        if self._max_bytes and not self._is_listening:
            self._is_listening = True
            self._crawl.parts.log.hearers.append(self._url_ended)
        self._check()

    def _url_ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        # The crawl has counted the bytes already
        del link, outcome, exchange
        self._check()

    def _check(self) -> None:
        """Close the spider, once, if the bytes received have reached the limit."""
        received = self._crawl.parts.counters["bytes"]
        if not self._max_bytes or received < self._max_bytes or self._has_ended:
            return
        self._has_ended = True
        logger.info(
            "CLOSESPIDER_BYTES = %d: the crawl stops after %d bytes; resume it with a larger number",
            self._max_bytes,
            received,
        )
        close_spider(self._crawler, BYTES_REASON)
