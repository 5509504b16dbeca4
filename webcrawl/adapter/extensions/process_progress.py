"""The progress lines of `webcrawl process`, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler

from webcrawl.adapter.archive_reading import RereadingScheduler
from webcrawl.adapter.extensions.progress import Progress
from webcrawl.adapter.extensions.summary import Summary
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.numbers import percent
from webcrawl.base.readable import count, megabytes, pace, short
from webcrawl.crawl.archived_pages import lost_of
from webcrawl.crawl.last_lines import search_command, what_is_kept
from webcrawl.crawl.progress import unexpected
from webcrawl.record.archives import Archives
from webcrawl.store.jobdir.stats_file import STORE_FAILED

HOW_TO_MAKE_SOMETHING = (
    "name outputs, as in -s OUTPUTS='text index', or a pipeline of yours in ITEM_PIPELINES"
)


class RereadingProgress(Progress):
    """Shows the number and rate of pages, and how much of the archives is read."""

    def line(self, figures: Mapping[str, Any], rate: float) -> str:
        archives = archives_of(self._crawler)
        read = f"{archives.bytes_done / 1e6:.1f} of {megabytes(archives.bytes_total)}"
        pages = f"{count(figures['pages'], 'page')} ({rate:.1f}/s)"
        return f"{pages}, file {archives.file_number} of {len(archives)}, {read}{_lost(figures)}"

    def short_line(self, figures: Mapping[str, Any], rate: float) -> str:
        archives = archives_of(self._crawler)
        share = archives.bytes_done / max(archives.bytes_total, 1)
        pages = f"{count(figures['pages'], 'page', short)} {short(rate)}/s"
        return f"{pages}  file {archives.file_number}/{len(archives)}  {share:.0%}{_lost(figures)}"


def _lost(figures: Mapping[str, Any]) -> str:
    lost = sum(lost_of(figures).values())
    return f", {count(lost, 'place')} that could not be read" if lost else ""


class RereadingSummary(Summary):
    """Logs how much there is to read at the beginning, and what a run has done at its end."""

    def opened(self) -> None:
        super().opened()
        self._was_read = archives_of(self._crawler).are_read

    def beginning(self) -> str:
        resumed = (
            f": resumed with {count(self._pages_before, 'page')}" if self._pages_before else ""
        )
        shard = getattr(self._crawler.spider, "shard", None)
        share = f", shard {shard}" if shard is not None else ""
        made = (
            ""
            if self._makes_something()
            else f"; nothing will be made of them: {HOW_TO_MAKE_SOMETHING}"
        )
        return (
            f"{resumed}{share}, {count(len(archives_of(self._crawler)), 'file')} of archives{made}"
        )

    def afterwards(self) -> list[str]:
        return search_command(self._folder, values_of(self._crawler)["OUTPUTS"])

    def stopped(self, reason: str) -> list[str]:
        """Return no lines: `end` says how much is left, whatever the reason."""
        del reason
        return []

    def end(self, seconds: float) -> list[str]:
        """Return the last lines of a run: what it has done, and how to process the rest."""
        lines = summary(self._folder, self.figures(), seconds, self._pages_before)
        archives = archives_of(self._crawler)
        answers = self._crawl.parts.counters["answers"]
        if archives.bytes_done < archives.bytes_total:
            share = percent(archives.bytes_done, archives.bytes_total)
            lines.insert(1, f"stopped after {share}; run the same command to resume")
        elif self._was_read and answers == self._answers_before:
            lines.insert(
                1,
                "all was read by earlier runs: another JOBDIR processes it again, with other "
                "settings or outputs",
            )
        if not self._makes_something() and self._reason != STORE_FAILED:
            lines[-1] = f"nothing was made of them: {HOW_TO_MAKE_SOMETHING}"
        unfinished = reader_of(self._crawler).unfinished
        if unfinished:
            lines.insert(
                1,
                f"{count(unfinished, 'page')} cancelled in the pipelines; run the same command to "
                "process them again",
            )
        return lines

    def _makes_something(self) -> bool:
        """Return whether pages have gone to an output, or to code of the user's."""
        settings = self._crawler.settings
        names = ("ITEM_PIPELINES", "FEATURES", "FEEDS")
        return bool(values_of(self._crawler)["OUTPUTS"]) or any(map(settings.get, names))


def summary(folder: Path, figures: Mapping[str, Any], seconds: float, before: int) -> list[str]:
    """Return the lines on a run's pages, on what it left out or could not read, and on its folder.

    `before` is the number of pages of earlier runs.
    """
    pages = figures["pages"] - before
    total = f", {figures['pages']} with earlier runs" if before else ""
    lines = [
        f"{count(pages, 'page')} in {round(seconds, 1):g} s ({pace(pages, seconds)} pages/s){total}"
    ]
    repeats = figures.get("archive/repeats", 0)
    if repeats:
        lines.append(
            f"{count(repeats, 'answer')} left out, because their URLs were fetched again later"
        )
    others = figures.get("archive/others", 0)
    if others:
        lines.append(f"{count(others, 'record')} left out, because their URLs are of other kinds")
    forgotten = figures.get("archive/forgotten", 0)
    if forgotten:
        lines.append(f"{count(forgotten, 'answer')} left out of sites that asked to be forgotten")
    lost = lost_of(figures)
    if lost:
        kinds = ", ".join(f"{name} {number}" for name, number in sorted(lost.items()))
        lines.append(f"could not be read: {kinds}")
    if "revisits" in lost:
        lines.append(
            "revisit records refer to earlier archives: give those archives first, with another JOBDIR"
        )
    if figures.get("errors"):
        lines += [*unexpected(figures), "use another JOBDIR to process all pages again"]
    return [*lines, *what_is_kept(folder, figures)]


def archives_of(crawler: Crawler) -> Archives:
    """Return the archives that are read."""
    return reader_of(crawler).pages.archives


def reader_of(crawler: Crawler) -> RereadingScheduler:
    """Return the crawler's scheduler. Raise TypeError if it does not read archives."""
    scheduler = scheduler_of(crawler)
    if not isinstance(scheduler, RereadingScheduler):
        raise TypeError(f"{scheduler} does not read archives")
    return scheduler
