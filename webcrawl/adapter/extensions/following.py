"""Lets logs be followed: `tail -f logs/crawl.log` shows a line no later than a second."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import listening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.crawl.periodic import Loop
from webcrawl.store.errors import StoreError

INTERVAL = 1.0  # seconds; a busy crawl fills its buffers more often


class Following:
    """Writes buffered lines once a second."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._loop = Loop(self.flush)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return listening(crawler, cls(crawler))

    def opened(self) -> None:
        self._loop.start(INTERVAL, now=False)

    def closed(self) -> None:
        self._loop.stop()

    def flush(self) -> None:
        scheduler = scheduler_of(self._crawler)
        if scheduler.failed is not None:  # nothing more is kept
            return
        try:
            scheduler.crawl.parts.outputs.show()
        except (StoreError, MemoryError) as error:
            scheduler.fail(error)
