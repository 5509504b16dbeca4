"""`scrapy crawl`, which looks before it leaps: what would go wrong is said in one line, with exit status 1."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.crawler import Crawler

from webcrawl.preflight import Refused, preflight

INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended
BROKEN = ("error_breaker", "store_failed")  # ends that nobody asked for


class Command(CrawlCommand):
    """Scrapy's own command; before the spider `web` runs, its arguments, settings and files are checked."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """The first thing that Scrapy calls: nothing is logged yet, so that the line stands alone."""
        super().process_options(args, opts)
        if args != ["web"] or self.settings is None:
            return
        try:
            preflight(self.settings, opts.spargs)
        except Refused as error:
            _tell(str(error), self.settings["LOG_FILE"])
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._closed_well = False
        super().run(args, opts)
        # After a second signal Scrapy ignores more of them, and it leaves nothing else to tell it by. A first one that
        # comes while the crawl is being opened ends the process too; then all is as it was before.
        if not self._closed_well and signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            self.exitcode = INTERRUPTED

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = self._crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._closed, signals.spider_closed)
        return crawler

    def _closed(self, reason: str) -> None:
        self._closed_well = True
        scheduler = self._crawler.engine.scheduler if self._crawler.engine else None
        if reason in BROKEN or getattr(scheduler, "failed", None):
            self.exitcode = 1


def _tell(line: str, log: Any) -> None:
    """On standard error; and in the log file, which is all that scrapyd shows of a job."""
    sys.stderr.write(f"{line}\n")
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
