"""What `scrapy process` says of its progress, and at its end."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.rereading import RereadingScheduler, lost_of
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.archives.archives import Archives
from webcrawl.crawl.crawl import Crawl
from webcrawl.extensions.progress import Lines, Progress
from webcrawl.text.quantities import count, short

logger = logging.getLogger(__name__)


class RereadingProgress(Progress):
    """A line in the log every 10 seconds, or a live line on a terminal."""

    def lines(self) -> Lines:
        return ArchiveLines(self._crawl, archives_of(self._crawler))


class ArchiveLines(Lines):
    """Pages, their rate, and how much of the archives is read."""

    def __init__(self, crawl: Crawl, archives: Archives) -> None:
        super().__init__(crawl)
        self._archives = archives

    def line(self) -> str:
        pages, rate, *_ = self._look()
        archives = self._archives
        read = f"{archives.done / 1e6:.1f} of {archives.size / 1e6:.1f} MB"
        return f"{pages} pages ({rate:.1f}/s), file {archives.number} of {len(archives)}, {read}{self._lost()}"

    def short(self) -> str:
        pages, rate, *_ = self._look()
        archives = self._archives
        share = archives.done / max(archives.size, 1)
        return (
            f"{short(pages)} pages {short(rate)}/s  file {archives.number}/{len(archives)}  {share:.0%}{self._lost()}"
        )

    def _lost(self) -> str:
        lost = sum(lost_of(self._figures).values())
        return f", {count(lost, 'place')} that cannot be read" if lost else ""


class RereadingSummary:
    """`aloud`: on a terminal whose log goes to a file, the last lines are printed too."""

    def __init__(self, crawler: Crawler, folder: Path, *, aloud: bool) -> None:
        self._crawler, self._folder, self._aloud = crawler, folder, aloud

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        aloud = sys.stderr.isatty() and bool(crawler.settings["LOG_FILE"])
        extension = cls(crawler, Path(values_of(crawler)["JOBDIR"]), aloud=aloud)
        crawler.signals.connect(extension.opened, signals.spider_opened)
        return extension

    def opened(self) -> None:
        self._crawler.signals.connect(self.closed, signals.spider_closed)  # not before: opening may fail
        self._crawl = scheduler_of(self._crawler).crawl
        self._begun, self._before = time.monotonic(), self._crawl.pages
        archives = archives_of(self._crawler)
        resumed = f": resumed with {count(self._before, 'page')}" if self._before else ""
        logger.info("%s%s, %s of archives", self._folder, resumed, count(len(archives), "file"))

    def closed(self) -> None:
        figures, archives = self._crawl.stats(), archives_of(self._crawler)
        lines = summary(self._folder, figures, time.monotonic() - self._begun, self._before)
        if archives.done < archives.size:
            lines.insert(1, f"stopped after {archives.done / max(archives.size, 1):.0%}; the same command goes on")
        for line in lines:
            logger.info("%s", line)
        if self._aloud:
            sys.stderr.write("".join(f"{line}\n" for line in lines))


def summary(folder: Path, figures: Mapping[str, Any], seconds: float, before: int) -> list[str]:
    """What a run did, what of the archives could not be read, and where everything lies."""
    pages = figures["pages"] - before
    total = f", {figures['pages']} with earlier runs" if before else ""
    lines = [f"{count(pages, 'page')} in {round(seconds, 1):g} s ({pages / max(seconds, 0.1):.0f} pages/s){total}"]
    others = figures.get("archive/others", 0)
    if others:
        lines.append(f"{count(others, 'record')} of other kinds of URLs left out")
    lost = lost_of(figures)
    if lost:
        kinds = ", ".join(f"{name} {number}" for name, number in sorted(lost.items()))
        lines.append(f"cannot be read: {kinds}")
    return [*lines, f"everything is in {folder}"]


def archives_of(crawler: Crawler) -> Archives:
    """The archives that are read."""
    scheduler = scheduler_of(crawler)
    if not isinstance(scheduler, RereadingScheduler):
        raise TypeError(f"{scheduler} reads no archives")
    return scheduler.archives
