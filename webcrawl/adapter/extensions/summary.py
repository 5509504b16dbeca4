"""Logs how the crawl begins, and what it has done at its end."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import suppress
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
from webcrawl.store.jobdir.stats_file import FINISHED, STORE_FAILED

logger = logging.getLogger(__name__)


class Summary:
    """Logs the first and the last lines of a run.

    `is_printed`: the last lines are written to the terminal as well, because the log goes to a
    file.
    """

    def __init__(self, crawler: Crawler, folder: Path, *, is_printed: bool) -> None:
        self._crawler = crawler
        self._folder = folder
        self._is_printed = is_printed
        self._reason = ""  # why the crawl has ended
        self._pages_before = 0  # pages of earlier runs
        self._answers_before = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        is_printed = sys.stderr.isatty() and bool(crawler.settings["LOG_FILE"])
        jobdir = Path(values_of(crawler)["JOBDIR"])
        return connect_opening(crawler, cls(crawler, jobdir, is_printed=is_printed))

    def opened(self) -> None:
        # Not earlier, because opening may fail
        self._crawler.signals.connect(self.closed, signals.spider_closed)
        self._crawl = scheduler_of(self._crawler).crawl
        self._opened_at = time.monotonic()
        self._pages_before = self._crawl.parts.counters["pages"]
        self._answers_before = self._crawl.parts.counters["answers"]
        self._activity_before = self._crawl.outlook.activity()
        logger.info("%s%s", self._folder, self.beginning())

    def beginning(self) -> str:
        """Return the first line's text after the folder: a new crawl, or what is resumed."""
        queued = int(self._crawl.stats()["queued"])
        if self._answers_before or queued:
            resumed = (
                f": resumed with {count(self._pages_before, 'page')} and {queued_urls(queued)}"
            )
            repeated = ""
            if self._crawl.last_run_crashed:
                repeated = (
                    "; the last run was killed or failed: what it did after its last checkpoint is "
                    "done again"
                )
            return f"{resumed}{self._seeds_warning()}{repeated}"
        if self._crawl.last_run_crashed:
            return ": starting over: the last run was killed or failed before it had saved a page"
        return f": a new crawl{self._scope_warning()}"

    def _seeds_warning(self) -> str:
        """Return a warning if the seeds differ from those of the last run, or an empty string.

        The user may have meant another crawl.
        """
        former = self._crawl.parts.seeding.former
        if not former:
            return ""
        parts = self._crawl.parts
        first_answer = parts.statistics.series.start  # 0: none has come
        begun = ""
        if first_answer:
            moment = parts.clock.wall(first_answer / 1000)
            date = time.strftime("%Y-%m-%d", time.localtime(moment))
            begun = f" that began on {date}"
        seeds = shortened(str(getattr(self._crawler.spider, "seed_lists", "")))
        was = f" of a crawl{begun}, last run with the seeds {shortened(former)}"
        return f"{was}; {seeds} is added to it: to crawl that separately, use another JOBDIR"

    def _scope_warning(self) -> str:
        """Return a warning if a crawl from URLs follows links to any site, or an empty string.

        The user may expect it to stay on the sites of the URLs.
        """
        lists = str(getattr(self._crawler.spider, "seed_lists", ""))
        if "://" not in lists or values_of(self._crawler)["URL_SCOPE"] != "any":
            return ""
        return ", which follows links to any site (scope any); use -a scope=host to stay on the seeds' hosts"

    def closed(self, reason: str = "") -> None:
        """Log the last lines of the run, and print them too if the log goes to a file."""
        scheduler = scheduler_of(self._crawler)
        self._reason = scheduler.end_reason(reason)
        lines = self._closing_lines(self._reason)
        has_done_something = self._crawl.outlook.activity() != self._activity_before
        if scheduler.was_complete and reason == FINISHED and not has_done_something:
            logger.warning(
                "%s: the crawl was already complete, with nothing left to do. To crawl again, use "
                "another JOBDIR",
                self._folder,
            )
        for line in lines:
            logger.info("%s", line)
        if scheduler.is_of_empty_hive:
            logger.error(
                "no drone of the hive has fetched a page; to begin the hive anew, start all drones "
                "with another HIVE_NAME and another JOBDIR"
            )
        if self._is_printed:
            with suppress(OSError):  # the terminal may be closed
                sys.stderr.write("".join(f"{line}\n" for line in lines))

    def _closing_lines(self, reason: str) -> list[str]:
        """Return the last lines: what the run has done, why it ended, and what to do next."""
        lines = self.end(time.monotonic() - self._opened_at)
        lines_on_seeds = self._lines_on_seeds()
        lines += [f"nothing was fetched: {line}" for line in lines_on_seeds]
        if reason == STORE_FAILED or values_of(self._crawler)["HIVE_DRONES"]:
            return lines
        if self._crawl.parts.counters["answers"] and not lines_on_seeds:
            lines += self.afterwards()
        return lines + self.stopped(reason)

    def afterwards(self) -> list[str]:
        """Return lines with commands for the crawl's outputs."""
        return next_commands(self._folder, values_of(self._crawler)["OUTPUTS"])

    def stopped(self, reason: str) -> list[str]:
        """Return a line on why the run has stopped, or no line if nothing was left to do."""
        line = stopped_by(reason, is_work_left=scheduler_of(self._crawler).run.is_work_left)
        return [line] if line else []

    def end(self, seconds: float) -> list[str]:
        """Return the lines on what a run of this many seconds has done."""
        # The lines on the seeds already say what to do if nothing was fetched
        bound = "" if self._lines_on_seeds() else self._crawl.outlook.bound()
        present_tables = {"outcomes": self._crawl.parts.statistics.outcomes}
        tables = scheduler_of(self._crawler).run.kept_tables(present_tables)
        return last_lines(
            self._folder,
            {**self.figures(), "statistics": tables, "bound": bound},
            seconds,
            self._pages_before,
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures of the crawl, with the errors, end and waits of this run."""
        stats = scheduler_of(self._crawler).run.kept(self._crawl.stats())
        errors = self._crawler.stats.get_value("errors/unexpected", 0)
        has_waiting_urls = stats["queued"] > stats.get("deferred", 0)
        waits = self._crawl.outlook.waits() if has_waiting_urls else Waits()
        away = str(self._crawl.outlook.servers)
        paused = self._crawl.parts.in_force.paused
        of_run = {"errors": errors, "reason": self._reason, "paused": paused}
        return {**stats, **of_run, "waits": waits, "away": away}

    def _lines_on_seeds(self) -> list[str]:
        """Return lines on why the seeds have given no page, empty if they have given one."""
        fates = scheduler_of(self._crawler).run.fates
        return fates.lines() if fates is not None else []


class Identity:
    """Logs at the start who crawls: warns of the default USER_AGENT, and names the signing key."""

    def __init__(self, values: CheckedSettings) -> None:
        self._values = values

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(values_of(crawler)))

    def opened(self) -> None:
        """Log the warning and the key."""
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
        """Do nothing at the end."""
