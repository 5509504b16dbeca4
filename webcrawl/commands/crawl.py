"""`scrapy crawl`, with checks before the start: any problem is one line and exit status 1."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.crawler import Crawler

from webcrawl.commands.preflight import CannotStart, preflight
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

INTERRUPTED = 130  # a shell's exit status for a program that Ctrl-C ended
BROKEN = ("error_breaker", "store_failed")  # reasons that count as a failure


class Command(CrawlCommand):
    """Scrapy's own command. Before the spider `web` runs, its arguments, settings and files are checked."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Runs the checks here, where Scrapy has logged nothing yet, so that the line stands alone."""
        super().process_options(args, opts)
        if args != ["web"] or self.settings is None:
            return
        try:
            preflight(self.settings, opts.spargs)
        except CannotStart as error:
            _tell(str(error), self.settings["LOG_FILE"])
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._closed_well = False
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until the crawl handles it: by default it would end the process
        super().run(args, opts)
        # After a second signal Scrapy ignores further ones, and leaves no other trace of it. A first signal while the
        # crawl is being opened ends the process as well; then nothing has changed.
        if not self._closed_well and signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            self.exitcode = INTERRUPTED

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = self._crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._closed, signals.spider_closed)
        begun: Any = crawler
        begun.crawl_async = self._telling(crawler.crawl_async)
        return crawler

    def _telling(self, crawl: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Coroutine[Any, Any, None]]:
        """Reports state that cannot be opened in one line, without a traceback, although the check found it sound."""

        async def crawl_and_tell(*args: Any, **kwargs: Any) -> None:
            try:
                await crawl(*args, **kwargs)
            except StoreError as error:
                logger.critical("%s", error)
                self.exitcode = 1

        return crawl_and_tell

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
