"""Fetches nothing in QUIET_HOURS, day by day."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.engine_pause import hold
from webcrawl.adapter.listeners import listening
from webcrawl.adapter.periodic import Loop
from webcrawl.adapter.values import values_of

logger = logging.getLogger(__name__)

INTERVAL = 5.0  # seconds between two looks at the clock
DAY = 24 * 60  # minutes
Span = tuple[int, int]


class QuietHours:
    """Pauses only the engine: requests under way are finished, and checkpoints continue."""

    def __init__(self, crawler: Crawler, spans: Sequence[Span]) -> None:
        self._crawler, self._spans = crawler, spans
        self._until: int | None = None  # the minute of the day at which the quiet is over, while it lasts
        self._loop = Loop(self.look)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spans = values_of(crawler)["QUIET_HOURS"]
        if not spans:
            raise NotConfigured
        return listening(crawler, cls(crawler, spans))

    def opened(self) -> None:
        self._loop.start(INTERVAL)

    def closed(self) -> None:
        self._loop.stop()

    def look(self) -> None:
        until = quiet_until(time.time(), self._spans)
        if until == self._until:
            return
        self._until = until
        then = hold(self._crawler, self, "quiet hours", held=until is not None)
        if until is None:
            logger.info("QUIET_HOURS are over: %s", then)
        else:
            logger.info("QUIET_HOURS: nothing is fetched until %02d:%02d UTC", *divmod(until, 60))


def quiet_until(now: float, spans: Sequence[Span]) -> int | None:
    """The first minute of the day that is in no span, if it is in one now; else None. The spans leave one free."""
    minute = end = int(now // 60) % DAY
    while (last := next((last for begin, last in spans if (end - begin) % DAY < (last - begin) % DAY), end)) != end:
        end = last
    return end if end != minute else None
