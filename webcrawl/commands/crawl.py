"""`scrapy crawl`, which looks before it leaps: what would go wrong is said in one line, with exit status 1."""

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
from webcrawl.fastpath.names import ForeignScrapy
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

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
        except CannotStart as error:
            _tell(str(error), self.settings["LOG_FILE"])
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._closed_well = False
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until the crawl listens to it; it would end the process
        super().run(args, opts)
        # After a second signal Scrapy ignores more of them, and it leaves nothing else to tell it by. A first one that
        # comes while the crawl is being opened ends the process too; then all is as it was before.
        if not self._closed_well and signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            self.exitcode = INTERRUPTED

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = self._crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._closed, signals.spider_closed)
        begun: Any = crawler
        begun.crawl_async = self._telling(crawler.crawl_async)
        return crawler

    def _telling(self, crawl: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Coroutine[Any, Any, None]]:
        """The state was sound a moment ago; if it cannot be opened after all, that is a line too, no traceback."""

        async def crawl_and_tell(*args: Any, **kwargs: Any) -> None:
            try:
                await crawl(*args, **kwargs)
            except (StoreError, ForeignScrapy) as error:
                logger.critical("%s", error)
                self.exitcode = 1

        return crawl_and_tell

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
