"""Wakes the loop that takes URLs from the frontier: Scrapy's engine, or the crawl's own loop."""

from __future__ import annotations

from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.crawl.driver import Driver
from webcrawl.crawl.periodic import DueTimer


class FrontierWaker:
    """Has the frontier asked for its next URL, at once or by one timer at the earliest due time."""

    def __init__(self) -> None:
        self.engine: EngineHandle | None = None  # until the crawl is open
        self.driver: Driver | None = None  # the crawl's own loop, where it runs
        self.timer = DueTimer(self.wake)

    def wake(self) -> None:
        """Have the loop that takes URLs ask at once."""
        if self.driver is not None:
            self.driver.wake()
        else:
            self.wake_engine()

    def wake_engine(self) -> None:
        """Have Scrapy's engine ask at once.

        Where the crawl's own loop runs, the engine still takes errbacks, requests without a host
        and links that a spider has made requests of.
        """
        if self.engine is not None:
            self.engine.wake()
