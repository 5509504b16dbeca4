"""The progress lines of `scrapy process`, and its summary."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.archive_reading import RereadingScheduler, lost_of
from webcrawl.adapter.extensions.summary import Summary
from webcrawl.adapter.last_lines import search_command
from webcrawl.adapter.periodic import Loop
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.live_line import LiveLine
from webcrawl.base.readable import count, megabytes, pace, short
from webcrawl.crawl import progress
from webcrawl.crawl.progress import unexpected
from webcrawl.record.archives.archives import Archives

logger = logging.getLogger(__name__)


class Progress:
    """`live`: standard error is a terminal. `logged`: the log goes elsewhere, so it gets lines too."""

    def __init__(self, crawler: Crawler, *, live: bool, logged: bool) -> None:
        self._crawler, self._logged = crawler, logged
        self._live = LiveLine() if live else None
        self._loops: list[Loop] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        live = sys.stderr.isatty()
        extension = cls(crawler, live=live, logged=not live or bool(crawler.settings["LOG_FILE"]))
        crawler.signals.connect(extension.opened, signals.spider_opened)
        return extension

    def opened(self) -> None:
        self._crawler.signals.connect(self.closed, signals.spider_closed)  # not before: opening may fail
        self._rate = progress.Rate()
        self._rate.of(self.figures()["pages"])
        if self._live is not None:
            self._live.start()
            self._every(progress.BLINK, self._blink)
        if self._logged:
            self._every(progress.INTERVAL, self._log)

    def closed(self) -> None:
        for loop in self._loops:
            loop.stop()
        if self._live is not None:
            self._live.stop()

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        loop = Loop(call)
        loop.start(seconds, now=False)
        self._loops.append(loop)

    def _blink(self) -> None:
        if self._live is not None:
            figures = self.figures()
            self._live.update(self.short_line(figures, self._rate.of(figures["pages"])))

    def _log(self) -> None:
        figures = self.figures()
        logger.info("%s", self.line(figures, self._rate.of(figures["pages"])))

    def figures(self) -> Mapping[str, Any]:
        """Return the figures of the crawl, and why nothing is fetched: told so, no seed gives anything, or it waits."""
        scheduler = scheduler_of(self._crawler)
        outlook = scheduler.crawl.outlook
        fate = scheduler.fates.progress() if scheduler.fates is not None else ""
        return {
            **scheduler.crawl.stats(),
            "ready": outlook.ready_hosts(),
            "trouble": outlook.trouble,
            "waits": "; ".join(filter(None, (fate, outlook.stands_still))),
        }

    def line(self, figures: Mapping[str, Any], rate: float) -> str:
        """Return the line of the log."""
        said = (progress.waits_for(figures), progress.line(figures, rate), *progress.revisits_in_words(figures))
        return ", ".join(filter(None, said))

    def short_line(self, figures: Mapping[str, Any], rate: float) -> str:
        """Return the line of a terminal."""
        return progress.short_line(figures, rate)


class RereadingProgress(Progress):
    """Pages, their rate, and how much of the archives is read."""

    def line(self, figures: Mapping[str, Any], rate: float) -> str:
        archives = archives_of(self._crawler)
        read = f"{archives.done / 1e6:.1f} of {megabytes(archives.size)}"
        pages = f"{count(figures['pages'], 'page')} ({rate:.1f}/s)"
        return f"{pages}, file {archives.number} of {len(archives)}, {read}{_lost(figures)}"

    def short_line(self, figures: Mapping[str, Any], rate: float) -> str:
        archives = archives_of(self._crawler)
        share = archives.done / max(archives.size, 1)
        pages = f"{count(figures['pages'], 'page', short)} {short(rate)}/s"
        return f"{pages}  file {archives.number}/{len(archives)}  {share:.0%}{_lost(figures)}"


def _lost(figures: Mapping[str, Any]) -> str:
    lost = sum(lost_of(figures).values())
    return f", {count(lost, 'place')} that cannot be read" if lost else ""


class RereadingSummary(Summary):
    """The amount that there is to read, and what came of it."""

    def beginning(self) -> str:
        resumed = f": resumed with {count(self._before, 'page')}" if self._before else ""
        return f"{resumed}, {count(len(archives_of(self._crawler)), 'file')} of archives"

    def afterwards(self) -> list[str]:
        return search_command(self._folder, values_of(self._crawler)["OUTPUTS"])

    def stopped(self, reason: str) -> list[str]:
        """Nothing: `end` says how much is left, whatever the reason."""
        del reason
        return []

    def end(self, seconds: float) -> list[str]:
        lines = summary(self._folder, self.figures(), seconds, self._before)
        archives = archives_of(self._crawler)
        if archives.done < archives.size:
            share = archives.done / max(archives.size, 1)
            lines.insert(1, f"stopped after {share:.0%}; run the same command to resume")
        if unfinished := reader_of(self._crawler).unfinished:
            lines.insert(
                1, f"{count(unfinished, 'page')} cancelled in the pipelines; the same command processes them again"
            )
        return lines


def summary(folder: Path, figures: Mapping[str, Any], seconds: float, before: int) -> list[str]:
    """The lines that say what a run did, what of the archives could not be read, and where everything lies."""
    pages = figures["pages"] - before
    total = f", {figures['pages']} with earlier runs" if before else ""
    lines = [f"{count(pages, 'page')} in {round(seconds, 1):g} s ({pace(pages, seconds)} pages/s){total}"]
    if repeats := figures.get("archive/repeats", 0):
        lines.append(f"{count(repeats, 'answer')} left out that ended nothing: their URLs were asked for again")
    others = figures.get("archive/others", 0)
    if others:
        lines.append(f"{count(others, 'record')} of other kinds of URLs left out")
    lost = lost_of(figures)
    if lost:
        kinds = ", ".join(f"{name} {number}" for name, number in sorted(lost.items()))
        lines.append(f"cannot be read: {kinds}")
    if "revisits" in lost:
        lines.append("what revisits refer to is in earlier archives: name those first, and another JOBDIR")
    if figures.get("errors"):
        lines += [*unexpected(figures), "another JOBDIR processes all pages once more"]
    return [*lines, f"everything is in {folder}"]


def archives_of(crawler: Crawler) -> Archives:
    """The archives that are read."""
    return reader_of(crawler).archives


def reader_of(crawler: Crawler) -> RereadingScheduler:
    """The crawler's scheduler, which has to be this one."""
    scheduler = scheduler_of(crawler)
    if not isinstance(scheduler, RereadingScheduler):
        raise TypeError(f"{scheduler} reads no archives")
    return scheduler
