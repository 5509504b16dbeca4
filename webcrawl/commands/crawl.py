"""`scrapy crawl`, with checks before the start: any problem is one line and exit status 1."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from webcrawl.adapter.dispatch import UnusableHandler
from webcrawl.commands.preflight import CannotStart, preflight, preflight_spider
from webcrawl.commands.signals import OneSignal
from webcrawl.fastpath.names import ForeignScrapy
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

ONE_LINE = (StoreError, ForeignScrapy, UnusableHandler)  # their messages say it all
INTERRUPTED = 130  # a shell's exit status for a program that Ctrl-C ended
BROKEN = ("error_breaker", "store_failed", "browser_failed")  # reasons that count as a failure


class Command(CrawlCommand):
    """Scrapy's own command. Before a spider runs, its settings and files are checked, and `web`'s arguments."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Runs the checks here, where Scrapy has logged nothing yet, so that the line stands alone."""
        super().process_options(args, opts)
        if len(args) != 1:
            raise UsageError("exactly one spider is needed: scrapy crawl NAME", print_help=False)
        if self.settings is None:
            return
        try:
            if args == ["web"]:
                preflight(self.settings, opts.spargs)
            else:
                preflight_spider(self.settings, args[0])
        except CannotStart as error:
            _tell(str(error), self.settings["LOG_FILE"])
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if self.crawler_process is None:
            raise RuntimeError("Scrapy runs this command with a crawler process")
        self._closed_well = False
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until the crawl listens to it; it would end the process
        self._crawler = self.crawler_process.create_crawler(args[0])
        self._crawler.signals.connect(self._closed, signals.spider_closed)
        crawling = self.crawler_process.crawl(self._crawler, **opts.spargs)
        OneSignal().install_soon()
        self.crawler_process.start()
        if self.crawler_process.bootstrap_failed:
            self.exitcode = 1
        if isinstance(crawling, asyncio.Task) and crawling.done() and not crawling.cancelled():
            self._explain(crawling.exception())
        # After a second signal Scrapy ignores more of them, and it leaves nothing else to recognize it by. A first one
        # that comes while the crawl is being opened ends the process too; then all is as it was before.
        if not self._closed_well and signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            self.exitcode = INTERRUPTED

    def _explain(self, error: BaseException | None) -> None:
        """The state was sound a moment ago; if it cannot be opened after all, that is one line, without a traceback."""
        if error is not None:
            logger.critical("%s", error, exc_info=None if isinstance(error, ONE_LINE) else error)
            self.exitcode = 1

    def _closed(self, reason: str) -> None:
        self._closed_well = True
        scheduler = self._crawler.engine.scheduler if self._crawler.engine else None
        if reason in BROKEN or getattr(scheduler, "failed", None):
            self.exitcode = 1


def _tell(line: str, log: Any) -> None:
    """Writes to standard error, and to the log file, which is all that scrapyd shows of a job."""
    sys.stderr.write(f"{line}\n")
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
