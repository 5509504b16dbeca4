"""Says in words how the crawl begins, and what came of it."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl import settings as defaults
from webcrawl.adapter.listeners import connect_extension, connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.program import program
from webcrawl.base.readable import count, shortened
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.last_lines import last_lines, next_commands, queued_urls
from webcrawl.crawl.progress import stopped_by
from webcrawl.frontier.wait_words import Waits
from webcrawl.net.identity.request_signing import form_and_origin
from webcrawl.net.identity.signing_key import SigningKey

logger = logging.getLogger(__name__)


class Summary:
    """Logs the first and the last lines of a run.

    `aloud`: on a terminal whose log goes to a file, the last lines are printed too.
    """

    def __init__(self, crawler: Crawler, folder: Path, *, aloud: bool) -> None:
        self._crawler = crawler
        self._folder = folder
        self._aloud = aloud
        self._reason = ""  # for which the crawl has ended
        self._before = 0  # pages of earlier runs
        self._answers_before = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        aloud = sys.stderr.isatty() and bool(crawler.settings["LOG_FILE"])
        jobdir = Path(values_of(crawler)["JOBDIR"])
        return connect_opening(crawler, cls(crawler, jobdir, aloud=aloud))

    def opened(self) -> None:
        # Not before: opening may fail
        self._crawler.signals.connect(self.closed, signals.spider_closed)
        self._crawl = scheduler_of(self._crawler).crawl
        self._begun = time.monotonic()
        self._before = self._crawl.parts.counters["pages"]
        self._answers_before = self._crawl.parts.counters["answers"]
        logger.info("%s%s", self._folder, self.beginning())

    def beginning(self) -> str:
        """Return the text of the first line behind the folder."""
        queued = int(self._crawl.stats()["queued"])
        if self._answers_before or queued:
            again = "; the last run was killed or failed: what it did after its last checkpoint is done again"
            found = f": resumed with {count(self._before, 'page')} and {queued_urls(queued)}"
            return f"{found}{self._added()}{again * self._crawl.cut_short}"
        if self._crawl.cut_short:
            return ": starting over: the last run was killed or failed before it had saved a page"
        return f": a new crawl{self._far()}"

    def _added(self) -> str:
        """Return a warning about other seeds than before: another crawl may have been meant."""
        former = self._crawl.parts.seeding.former
        if not former:
            return ""
        begun = time.strftime(
            "%Y-%m-%d", time.localtime(self._crawl.parts.statistics.series.start / 1000)
        )
        seeds = shortened(str(getattr(self._crawler.spider, "seed_lists", "")))
        was = f" of a crawl that began on {begun}, last run with the seeds {shortened(former)}"
        return f"{was}; {seeds} is added to it: to crawl that separately, use another JOBDIR"

    def _far(self) -> str:
        """Return a warning if a crawl from URLs follows links to any site: its user may expect theirs only."""
        lists = str(getattr(self._crawler.spider, "seed_lists", ""))
        if "://" not in lists or values_of(self._crawler)["URL_SCOPE"] != "any":
            return ""
        return ", which follows links to any site (scope any); use -a scope=host to stay on the seeds' hosts"

    def closed(self, reason: str = "") -> None:
        self._reason = reason
        lines = self.end(time.monotonic() - self._begun)
        has_failed = scheduler_of(self._crawler).failed is not None
        if has_failed:
            # The figures are beyond what is kept
            del lines[-1:]
            if self._folder.exists():
                lines.append(f"{self._folder} has everything up to the last checkpoint")
        lines += [f"nothing was fetched: {line}" for line in self._fates()]
        if not has_failed and not values_of(self._crawler)["HIVE_DRONES"]:
            if self._crawl.parts.counters["answers"] and not self._fates():
                lines += self.afterwards()
            lines += self.stopped(reason)
        if (
            scheduler_of(self._crawler).was_complete
            and self._crawl.parts.counters["answers"] == self._answers_before
        ):
            logger.warning(
                "%s: the crawl was already complete, with nothing left to do. To crawl again, use "
                "another JOBDIR",
                self._folder,
            )
        for line in lines:
            logger.info("%s", line)
        if scheduler_of(self._crawler).is_of_empty_hive:
            logger.error(
                "no drone of the hive has fetched a page; to begin the hive anew, start all drones "
                "with another HIVE_NAME and another JOBDIR"
            )
        if self._aloud:
            sys.stderr.write("".join(f"{line}\n" for line in lines))

    def afterwards(self) -> list[str]:
        """Return the commands for what is there."""
        return next_commands(self._folder, values_of(self._crawler)["OUTPUTS"])

    def stopped(self, reason: str) -> list[str]:
        """Return a line on what ended the run, unless nothing was left."""
        return [said] if (said := stopped_by(reason)) else []

    def end(self, seconds: float) -> list[str]:
        """Return the last lines, of a run of so many seconds."""
        # The fates of the seeds say what would help
        bound = "" if self._fates() else self._crawl.outlook.bound()
        now = {"outcomes": self._crawl.parts.statistics.outcomes}
        tables = scheduler_of(self._crawler).run.kept_tables(now)
        return last_lines(
            self._folder,
            {**self.figures(), "statistics": tables, "bound": bound},
            seconds,
            self._before,
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures of the crawl, and the errors of this run."""
        told = self._crawler.stats
        stats = scheduler_of(self._crawler).run.kept(self._crawl.stats())
        errors = told.get_value("errors/unexpected", 0) if told is not None else 0
        waits = self._crawl.outlook.waits() if stats["queued"] > stats.get("aside", 0) else Waits()
        away = str(self._crawl.outlook.servers)
        paused = self._crawl.parts.in_force.paused
        of_run = {"errors": errors, "reason": self._reason, "paused": paused}
        return {**stats, **of_run, "waits": waits, "away": away}

    def _fates(self) -> list[str]:
        """Return why the seeds gave nothing, if they gave nothing."""
        fates = scheduler_of(self._crawler).run.fates
        return fates.lines() if fates is not None else []


class Identity:
    """Warns of a USER_AGENT that is the default; names the key that signs."""

    def __init__(self, values: CheckedSettings) -> None:
        self._values = values

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(values_of(crawler)))

    def opened(self) -> None:
        values = self._values
        if values["USER_AGENT"] == defaults.USER_AGENT:
            logger.warning(
                "USER_AGENT is the default, %r: add a page or an address where you can be reached, "
                "as in -s USER_AGENT='mybot/1.0 (+https://example.org/bot)'",
                defaults.USER_AGENT,
            )
        if values["BOT_KEY"] and values["BOT_AGENT"]:
            keyid = SigningKey.read(values["BOT_KEY"]).keyid
            _, agent = form_and_origin(values["BOT_AGENT"])
            check = f"{program()} identity verify {agent}"
            logger.info("requests are signed: key %s, directory %s (%s)", keyid, agent, check)

    def closed(self) -> None:
        """Do nothing: there are only lines at the start."""
