"""Shows progress: a line in the log every 10 seconds, or a live line on a terminal."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.periodic import Loop
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.seed_fates import SeedFates
from webcrawl.base.live_line import LiveLine
from webcrawl.base.readable import count, short
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.outlook import NOTICED
from webcrawl.store.jobdir.history_line import hosts_asked
from webcrawl.store.jobdir.revisit_figures import figures_of, fresh

logger = logging.getLogger(__name__)

INTERVAL = 10.0  # seconds between two lines in the log
BLINK = 0.5  # seconds between two updates of the live line


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
        self._crawl = scheduler_of(self._crawler).crawl
        if self._live is not None:
            self._start(self._live)
        if self._logged:
            self._every(INTERVAL, self.lines().log)

    def lines(self) -> Lines:
        """The text of a progress line."""
        return Lines(self._crawl, scheduler_of(self._crawler).fates)

    def closed(self) -> None:
        for loop in self._loops:
            loop.stop()
        if self._live is not None:
            self._live.stop()

    def _start(self, live: LiveLine) -> None:
        live.start()
        lines = self.lines()
        self._every(BLINK, lambda: live.update(lines.short()))

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        loop = Loop(call)
        loop.start(seconds, now=False)
        self._loops.append(loop)


class Lines:
    """Progress in one line; its rate is that of the last 10 seconds."""

    def __init__(self, crawl: Crawl, fates: SeedFates | None = None) -> None:
        self._crawl, self._fates = crawl, fates
        self._since = deque([_now(crawl)])

    def log(self) -> None:
        logger.info("%s", self.line())

    def line(self) -> str:
        """The line of a log, with exact numbers."""
        pages, rate, asked, ready, waiting = self._look()
        begin = f"{trouble}, " if (trouble := self._trouble(asked, ready)) else ""
        figures = self._figures
        return (
            f"{begin}{count(pages, 'page')} ({rate:.1f}/s) of {count(int(figures['answers']), 'answer')}, "
            f"{figures['queued']} queued{_aside(figures)}, "
            f"hosts: {asked} asked {ready} ready {waiting} waiting, {figures['seen/keys']} seen, "
            f"{count(int(figures['failures']), 'failure')}, {figures['bytes'] / 1e6:.1f} MB{_revisits(figures)}"
        )

    def short(self) -> str:
        """The text for a terminal of 80 columns, whatever the numbers are; hosts are asked/ready/waiting."""
        pages, rate, *hosts = self._look()
        asked = "/".join(map(short, hosts))
        queued, seen, failed = (short(self._figures[name]) for name in ("queued", "seen/keys", "failures"))
        begin, known = f"{count(pages, 'page', short)} {short(rate)}/s", f"  seen {seen}"
        if (revisits := figures_of(self._figures)) is not None:
            known = f"  fresh {fresh(revisits)}"
        if trouble := self._trouble(*hosts[:2]):  # it goes before other figures: there is no room for all
            begin, known = f"{trouble}  {count(pages, 'page', short)}", ""
        size = short(self._figures["bytes"])
        return f"{begin}  queue {queued}  hosts {asked}{known}  failed {failed}  {size}B"

    def _trouble(self, asked: int, ready: int) -> str:
        """Why nothing is fetched, if nothing is: told so, no seed gives anything, or it waits for hosts or servers."""
        if trouble := self._crawl.outlook.trouble:
            return trouble
        fate = self._fates.progress() if self._fates is not None else ""
        waits = "" if asked or ready else self._crawl.outlook.all_waits(NOTICED)
        return "; ".join(filter(None, (fate, waits)))

    def _look(self) -> tuple[int, float, int, int, int]:
        """Pages, their rate, and hosts by what they do."""
        now, pages = _now(self._crawl)
        while len(self._since) > 1 and self._since[1][0] <= now - INTERVAL + BLINK:
            self._since.popleft()
        rate = (pages - self._since[0][1]) / max(now - self._since[0][0], 1e-9)
        self._since.append((now, pages))
        self._figures = self._crawl.stats()
        ready, asked = self._crawl.outlook.ready_hosts(), hosts_asked(self._figures)
        return pages, rate, asked, ready, max(int(self._figures["hosts"]) - asked - ready, 0)


def _aside(figures: Mapping[str, Any]) -> str:
    """The share of the queue that is of hosts set aside, if any is."""
    aside = figures.get("aside")
    return f" ({count(aside, 'URL')} of {count(figures['hosts_aside'], 'host')} set aside)" if aside else ""


def _revisits(figures: Mapping[str, Any]) -> str:
    """The freshness of the copies, if the crawl fetches pages again."""
    revisits = figures_of(figures)
    return "" if revisits is None else f", {count(revisits.taken, 'revisit')} ({fresh(revisits)} fresh)"


def _now(crawl: Crawl) -> tuple[float, int]:
    return time.monotonic(), crawl.parts.counters["pages"]
