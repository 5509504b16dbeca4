"""The crawl's counters, in stats.json and in Scrapy's stats, at every checkpoint and at the end."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.crawl_end import FINISHED
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.dates import iso
from webcrawl.crawl.crawl import at_rest
from webcrawl.record.statistics.statistics import figures as statistics_of
from webcrawl.store.jobdir import stats_file

logger = logging.getLogger(__name__)


class Statistics:
    """`reason` is null while the crawl runs. Times are of this run, counters of the whole crawl."""

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self._crawler, self._path = crawler, folder / stats_file.NAME
        self._started = 0.0
        self._begun = 0.0  # the same by time.monotonic
        self._makes_pages = getattr(crawler.spidercls, "makes_pages", False)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, Path(values_of(crawler)["JOBDIR"]))
        crawler.signals.connect(extension.opened, signals.spider_opened)
        return extension

    def opened(self) -> None:
        self._crawler.signals.connect(self.closed, signals.spider_closed)  # not before: opening may fail
        self._started, self._begun = time.time(), time.monotonic()
        scheduler = scheduler_of(self._crawler)
        self._crawl = scheduler.crawl
        scheduler.keeping.kept = self._crawl.stats() | {"statistics": self._tables()}
        scheduler.keeping.taken.append(self.save)
        if stats_file.read(self._path.parent).get("reason") is not None:  # how the run before this one ended
            self.save()

    def closed(self, reason: str) -> None:
        self.save(reason)

    def save(self, reason: str | None = None) -> None:
        """Replaces the file as a whole. Failing to write it is logged, and does not end the crawl."""
        taken = self._crawl.parts.db.presence.taken_away()
        if taken is not None and taken.path == self._path.parent:  # another folder may be there, which is not ours
            return
        scheduler = scheduler_of(self._crawler)
        figures, tables = self._figures(reason), kept_tables(scheduler, self._tables())
        scheduler.keeping.kept = figures | {"statistics": tables}
        if self._crawler.stats is not None:
            for name, value in figures.items():
                self._crawler.stats.set_value(f"webcrawl/{name}", value)
            for name, value in scheduler.counts.stats(self._crawl, pages=self._makes_pages):
                if value:  # as Scrapy's own, which has no counters of what did not happen
                    self._crawler.stats.set_value(name, value)
        try:
            stats_file.write(self._path.parent, _text(figures | {"statistics": tables}))
        except OSError as error:
            logger.warning("%s: not written: %s", self._path, error)

    def _tables(self) -> dict[str, Any]:
        revisiting = self._crawl.parts.revisiting
        revisits = revisiting.counts.figures() if revisiting is not None else None
        tables = statistics_of(self._crawl.parts.statistics)
        return tables | {"revisits": revisits.histograms()} if revisits is not None else tables

    def _figures(self, reason: str | None) -> dict[str, Any]:
        stats = self._crawler.stats
        return {
            "reason": reason,
            "started": iso(int(self._started), fraction=False),
            "at": iso(int(time.time()), fraction=False),
            "seconds": round(time.monotonic() - self._begun, 1),
            **kept_of(scheduler_of(self._crawler), self._crawl.stats()),
            "bound": self._crawl.outlook.bound(),
            **self._unreached(reason),
            "errors": stats.get_value("errors/unexpected", 0) if stats is not None else 0,
        }

    def _unreached(self, reason: str | None) -> dict[str, list[str]]:
        """Why the seeds gave nothing, of a crawl that ended with nothing."""
        fates = scheduler_of(self._crawler).fates
        if fates is None or reason != FINISHED or not fates.hopeless:
            return {}
        return {stats_file.UNREACHED: fates.lines()}


def kept_of(scheduler: FrontierScheduler, stats: dict[str, Any]) -> dict[str, Any]:
    """Of a run whose last checkpoint failed, what the one before has: the rest is not kept, and comes again."""
    if scheduler.failed is None:
        return stats
    return at_rest({name: scheduler.keeping.kept.get(name, 0) for name in stats})


def kept_tables(scheduler: FrontierScheduler, tables: dict[str, Any]) -> dict[str, Any]:
    """The same of the tables of stats.json."""
    return tables if scheduler.failed is None else scheduler.keeping.kept.get("statistics", {})


def _text(figures: dict[str, Any]) -> str:
    """One line per counter, and one per table of the statistics."""
    tables = figures.pop("statistics")
    lines = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in tables.items())
    return f'{json.dumps(figures, indent=1)[:-2]},\n "statistics": {{\n  {lines}\n }}\n}}\n'
