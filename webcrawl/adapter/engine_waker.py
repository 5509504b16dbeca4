"""Wakes whoever takes URLs from the frontier: Scrapy's engine, or the crawl's own loop."""

from __future__ import annotations

from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.crawl.driver import Driver
from webcrawl.crawl.periodic import DueTimer


class EngineWaker:
    """Has the crawl asked again by one timer, for the earliest due time."""

    def __init__(self) -> None:
        self.engine: EngineHandle | None = None  # until the crawl is open
        self.driver: Driver | None = None  # the crawl's own loop, where it runs
        self.timer = DueTimer(self.now)

    def now(self) -> None:
        """Have it ask at once."""
        if self.driver is not None:
            self.driver.wake()
        else:
            self.engine_now()

    def engine_now(self) -> None:
        """Have Scrapy's engine ask, which has the rest where the crawl's own loop runs."""
        if self.engine is not None:
            self.engine.wake()
