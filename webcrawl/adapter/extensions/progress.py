"""Shows progress: a line in the log every 10 seconds, or a live line on a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.base.program import LiveLine
from webcrawl.crawl import progress
from webcrawl.crawl.periodic import Loop

logger = logging.getLogger(__name__)


class ProgressDisplay:
    """Shows the progress of a crawl or hive on a terminal, in the log, or on both.

    The log gets lines only if it does not go to the terminal itself.
    """

    def __init__(self, settings: BaseSettings) -> None:
        is_terminal = sys.stderr.isatty()
        self._is_logged = not is_terminal or bool(settings["LOG_FILE"])
        self._live = LiveLine() if is_terminal else None
        self._loops: list[Loop] = []

    def begin(self) -> None:
        self._rate = progress.Rate()
        self._rate.of(self.figures().get("pages", 0))
        if self._live is not None:
            self._live.start()
            self._every(progress.BLINK, self._update_terminal)
        if self._is_logged:
            self._every(progress.INTERVAL, self._log)

    def close(self) -> None:
        for loop in self._loops:
            loop.stop()
        if self._live is not None:
            self._live.stop()

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        loop = Loop(call)
        loop.start(seconds, now=False)
        self._loops.append(loop)

    def _update_terminal(self) -> None:
        if self._live is not None:
            figures = self.figures()
            self._live.update(self.short_line(figures, self._rate.of(figures.get("pages", 0))))

    def _log(self) -> None:
        figures = self.figures()
        logger.info("%s", self.line(figures, self._rate.of(figures.get("pages", 0))))

    def figures(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def line(self, figures: Mapping[str, Any], rate: float) -> str:
        """Return the line for the log. `rate` is in pages per second."""
        parts = (
            progress.waits_for(figures),
            progress.line(figures, rate),
            *progress.revisits_in_words(figures),
        )
        return ", ".join(filter(None, parts))

    def short_line(self, figures: Mapping[str, Any], rate: float) -> str:
        """Return the line for a terminal. `rate` is in pages per second."""
        return progress.short_line(figures, rate)


class Progress(ProgressDisplay):
    """Shows the progress of one crawl while its spider is open."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler.settings)
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_opening(crawler, cls(crawler))

    def opened(self) -> None:
        # Not earlier, because opening may fail
        self._crawler.signals.connect(self.close, signals.spider_closed)
        self.begin()

    def figures(self) -> Mapping[str, Any]:
        """Return the crawl's figures; `waits` says why nothing is fetched, empty if something is."""
        scheduler = scheduler_of(self._crawler)
        outlook = scheduler.crawl.outlook
        fates = scheduler.run.fates
        # A terminal has 80 columns: what stops the whole crawl leaves no room for its seeds.
        fate = fates.progress() if fates is not None and not outlook.trouble else ""
        return {
            **scheduler.crawl.stats(),
            "ready": outlook.ready_hosts(),
            "waits": "; ".join(filter(None, (fate, outlook.stands_still))),
        }
