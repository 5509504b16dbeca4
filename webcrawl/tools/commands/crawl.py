"""`scrapy crawl`, with checks before the start: any problem is one line and exit status 1.

A terminal that is closed (SIGHUP) ends the crawl as SIGTERM does, unless the signal is ignored, as
nohup has it.

Scrapy imports every command for any of them: what only a crawl needs is imported later.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.asyncio import call_later

from webcrawl import settings as defaults
from webcrawl.adapter.command_line_settings import check_log_file, settings_words
from webcrawl.adapter.crawl_end import EndedBadly, was_logged
from webcrawl.adapter.crawl_options import (
    StartArguments,
    add_options,
    apply,
    check_spider,
    crawl_group,
    start_of,
    take_folder,
    unknown_option,
)
from webcrawl.adapter.json_log import choose_json
from webcrawl.base.errors import CannotStart, lack, words_of
from webcrawl.base.program import ExitStatus, name_program, program
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.default_jobdir import JOB, default_jobdir
from webcrawl.crawl.exhaustion_watch import Alarm
from webcrawl.crawl.failures import where
from webcrawl.store.jobdir.stats_file import FINISHED
from webcrawl.tools.tool_command import add_verbosity_options

if TYPE_CHECKING:
    from webcrawl.crawl.standstill import Standstill

SAME = 0.5  # seconds within which further signals count as the one before
LAST = 10.0  # seconds in which a crawl that gets a second one must end; then the kernel ends it
NUMBERS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], object]


def _none() -> None:
    """Do nothing, for a program without such a watch."""


class OneSignal:
    """Stands before Scrapy's handlers, of which the first ends the crawl, the second forces it."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        arm: Callable[[float], None] | None = None,
        still: Callable[[], Standstill | None] = _none,
    ) -> None:
        """`still` watches the event loop of the crawl, if there is one by now."""
        self._clock = clock
        self._arm = arm or Alarm().arm
        self._still = still
        self._last = float("-inf")
        self._behind: dict[int, Handler] = {}

    def install_soon(self) -> None:
        """Call before the event loop runs: Scrapy installs its handlers right before that."""
        call_later(0, self.install)

    def install(self) -> None:
        for number in NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self.handle:  # not signal.SIG_IGN
                self._behind[number] = handler
                signal.signal(number, self.handle)
        # A terminal that is closed ends the crawl in good order; under nohup SIGHUP is ignored.
        is_hangup_unheard = signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
        if is_hangup_unheard and signal.SIGTERM in self._behind:
            self._behind[signal.SIGHUP] = self._behind[signal.SIGTERM]
            signal.signal(signal.SIGHUP, self.handle)

    def handle(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        # shell and kernel send one each: the second is no sign of haste
        if number == signal.SIGHUP and self._last > float("-inf"):
            return
        # noted first: the next signal may come while this one is handled
        before, self._last = self._last, now
        if now - before < SAME:
            self._last = before
            return
        still = self._still()
        if before > float("-inf"):
            if still is not None and still.stands:
                still.end(ExitStatus.INTERRUPTED)
            self._arm(LAST)
        elif still is not None:
            still.told()
        self._pass_on(number, frame)
        self.install()

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """Call Scrapy's handler, and keep the one that it installs behind this one.

        Slurm sends a signal to each process of a job, and the job's shell sends it on: the second
        came right after Scrapy had installed the handler that forces the end, and forced it.
        """
        install = signal.signal

        def keep(kind: int, handler: Handler | int) -> None:
            if callable(handler):
                self._behind[kind] = handler
            else:
                install(kind, handler)  # from then on all are ignored

        signal.signal = keep  # type: ignore[assignment]  # no other thread may install handlers
        try:
            self._behind[number](number, frame)
        finally:
            signal.signal = install


logger = logging.getLogger(__name__)

ARGUMENTS = (
    "For `crawl web`, without URLs or files.  -a seeds=SRC: where to start: files of URLs or domains (.txt, .csv, also "
    "packed as .gz or .zip) and URLs, with commas between; needed.  -a scope=any|seeds|domain|host: which links to "
    "follow: all, those in the registered domains of the seeds, in the page's own, or on its host (default: any).  "
    "-a limit=N: only the first N seeds.  -a since=JOBDIR: of pages that an earlier crawl, or a CDX server "
    "(cdx+http://…), has, only what changed is stored (docs/reprocess-and-since.md).  "
    f"-a follow=0: only the seeds; links are left to {program()} segments (docs/reprocess-and-since.md).  "
    "-a languages=sl,hr: pages in these come first (docs/order-and-budgets.md)."
)


class Command(CrawlCommand):
    """Scrapy's own command.

    Before a spider runs, its settings and files are checked, and a WebSpider's arguments.
    """

    begins_from_urls = True  # whether URLs and files may stand in place of a spider
    _start: StartArguments | None = None

    @staticmethod
    def _is_spider(settings: Settings, name: str) -> bool:
        from webcrawl.adapter.preflight import spider_names  # noqa: PLC0415 - 0.4 s

        return name in spider_names(settings)

    def spider(self, args: list[str], opts: argparse.Namespace, settings: Settings) -> type[Spider]:
        """Return the spider that the command line names; from URLs and files `web` crawls."""
        from webcrawl.adapter.preflight import spider_named  # noqa: PLC0415 - 0.4 s, here and below

        del opts
        if self._start is not None:
            return spider_named(settings, "web")
        if unknown := next((arg for arg in args if arg.startswith("-")), ""):
            raise UsageError(unknown_option(unknown), print_help=False)
        if len(args) != 1:
            raise UsageError(
                f"URLs or files are needed, or exactly one spider: {program()} crawl NAME",
                print_help=False,
            )
        return spider_named(settings, args[0])

    def syntax(self) -> str:
        return "[options] URL|FILE ... | SPIDER"

    def short_desc(self) -> str:
        return "Crawl from URLs, or from files of URLs or domains; or run a spider"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        group = crawl_group(parser) if self.begins_from_urls else None
        super().add_options(parser)
        name_program(parser, self)
        parser.add_argument(
            "--fresh",
            action="store_true",
            help="start over; the folder of the crawl so far is renamed to DIR.1 (or .2, …)",
        )
        add_verbosity_options(parser)
        if group is not None:
            add_options(group)
            parser.add_argument_group("Arguments of the spider web", ARGUMENTS)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the checks here, where Scrapy has logged nothing yet: their line stands alone."""
        try:
            self._prepare(args, opts)
        except KeyboardInterrupt:
            sys.exit(ExitStatus.INTERRUPTED)

    def _prepare(self, args: list[str], opts: argparse.Namespace) -> None:
        words = [*opts.set]
        opts.set[:] = settings_words(self.settings, words)
        if self.begins_from_urls:
            self._read_options(args, opts, words)
        else:
            super().process_options(args, opts)
        if self.settings is None:
            return
        choose_json(self.settings)
        demote_details()
        from webcrawl.crawl.finished_crawl import NothingLeft  # noqa: PLC0415 - 0.4 s, here and below

        try:
            self._spider = self.spider(args, opts, self.settings)
            self.check(self.settings, opts)
            check_log_file(self.settings)
        except NothingLeft as told:
            _tell(str(told), self.settings["LOG_FILE"])
            from webcrawl.adapter.values import plain_values  # noqa: PLC0415 - as above

            _wait_if_wanted(plain_values(self.settings, self._spider.name))
            sys.exit(0)
        except CannotStart as error:
            _tell(str(error), self.settings["LOG_FILE"])
            sys.exit(ExitStatus.FAILED)
        except (OSError, MemoryError, RuntimeError) as error:
            if not _of_system(error):
                raise
            _tell(_line(error), self.settings["LOG_FILE"])
            sys.exit(ExitStatus.FAILED)
        except SystemExit as error:  # while a module or class of the user's own is imported or made
            line, status = _of_exit(error)
            _tell(f"the crawl cannot start: {line}", self.settings["LOG_FILE"])
            sys.exit(status)

    def _read_options(self, args: list[str], opts: argparse.Namespace, words: list[str]) -> None:
        """Scrapy's options, and those of a crawl from URLs or files."""
        if self.settings is not None:
            self._start = start_of(args, partial(self._is_spider, self.settings))
            if self._start is not None:
                take_folder(opts, self.settings, words)
        super().process_options(args, opts)
        if self.settings is not None:
            apply(opts, self.settings, self._start, words)

    def check(self, settings: Settings, opts: argparse.Namespace) -> None:
        """Raise CannotStart for whatever can be wrong before the start."""
        from webcrawl.adapter.preflight import preflight  # noqa: PLC0415

        if self.begins_from_urls:
            check_spider(opts, makes_pages=getattr(self._spider, "makes_pages", False))
        if JOB in opts.spargs and settings["JOBDIR"] == defaults.JOBDIR:
            settings.set("JOBDIR", default_jobdir(self._spider.name, opts.spargs[JOB]))
        option = {"agent_option": "--user-agent "} if self.begins_from_urls else {}
        preflight(settings, self._spider, opts.spargs, again=opts.fresh, **option)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        del args
        if self.crawler_process is None:
            raise RuntimeError("Scrapy runs this command with a crawler process")
        self._closed_well = False
        self._reason = ""
        self._on_exit = "the crawl cannot start: %s"
        # until the crawl listens to it; it would end the process
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self._crawler = self.crawler_process.create_crawler(self._spider)
        self._crawler.signals.connect(self._opened, signals.spider_opened)
        self._crawler.signals.connect(self._closed, signals.spider_closed)
        try:
            crawling = self.crawler_process.crawl(self._crawler, **opts.spargs)
            OneSignal(still=partial(_still, self._crawler)).install_soon()
            self.crawler_process.start()
        except SystemExit as error:  # wherever it was raised, it has ended the event loop
            line, status = _of_exit(error)
            self.exitcode = status
            logger.critical(self._on_exit, line)
            return
        if self.crawler_process.bootstrap_failed:
            self.exitcode = ExitStatus.FAILED
        if isinstance(crawling, asyncio.Task) and crawling.done() and not crawling.cancelled():
            self._explain(crawling.exception())
        # After a second signal Scrapy ignores more of them, and it leaves nothing else to recognize
        # it by. A first one that comes while the crawl is being opened ends the process too; then
        # all is as it was before.
        if not self._closed_well and signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
            self.exitcode = ExitStatus.INTERRUPTED
        if not self.exitcode:
            self._end_well()

    def _end_well(self) -> None:
        """Exit with a status that says whether the crawl is finished; a finished drone may wait."""
        from webcrawl.adapter.values import values_of  # noqa: PLC0415 - loaded by now

        values = values_of(self._crawler)
        if self._reason == FINISHED:
            _wait_if_wanted(values)
        else:
            self.exitcode = values["STOPPED_STATUS"]

    def _explain(self, error: BaseException | None) -> None:
        """Print one line, without a traceback, if a sound state cannot be opened after all.

        A crawl that ended badly has said why.
        """
        from webcrawl.adapter.preflight import REASONS  # noqa: PLC0415

        if error is None:
            return
        self.exitcode = ExitStatus.FAILED
        if isinstance(error, EndedBadly) or was_logged(error):
            return
        if isinstance(error, REASONS):
            logger.critical("%s", str(error))
        elif _of_system(error):
            logger.critical("%s", _line(error))
        else:
            logger.critical("%s", str(error), exc_info=error)

    def _opened(self) -> None:
        self._on_exit = "%s ended the crawl at once: it will resume from its last checkpoint"

    def _closed(self, reason: str) -> None:
        self._closed_well = True
        self._reason = reason
        self._on_exit = "%s ended the process after the crawl was closed"


def _wait_if_wanted(values: CheckedSettings) -> None:
    from webcrawl.adapter.after_crawl import wait_if_wanted  # noqa: PLC0415 - few want it

    wait_if_wanted(values)


def _still(crawler: Crawler) -> Standstill | None:
    return getattr(crawler.engine and crawler.engine.scheduler, "standstill", None)


def _of_system(error: BaseException) -> bool:
    """Return whether the system refused something, which is no mistake in code."""
    return isinstance(error, OSError) or bool(lack(error))


def _of_exit(error: SystemExit) -> tuple[str, int]:
    """Return who called `sys.exit`, and the status: a crawl cut short by user code is no success.

    The add-on's own is raised again: it has said why.
    """
    if isinstance(error.__cause__, CannotStart):
        raise error
    code = error.code
    return f"sys.exit({code!r}){where(error)}", code if isinstance(code, int) and code % 256 else 1


def _line(error: BaseException) -> str:
    return f"the crawl cannot start: {words_of(error)}"


def _tell(line: str, log: Any) -> None:
    """Write to standard error, and to the log file, which is all that scrapyd shows of a job."""
    sys.stderr.write(f"{line}\n")
    if log:
        # standard error has it
        with suppress(OSError), Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


# By logger, how these messages begin: others of the same loggers, on signals for instance, are for
# everybody.
DETAILS: dict[str, str | tuple[str, ...]] = {
    "scrapy.addons": "Enabled addons",
    "scrapy.crawler": "Overridden settings",
    "scrapy.middleware": "Enabled ",
    "scrapy.statscollectors": "Dumping Scrapy stats",
    "scrapy.utils.log": ("Scrapy %(version)s started", "Versions"),
}


def demote(record: logging.LogRecord) -> bool:
    """Demote the notices listed in DETAILS to DEBUG. Used as a log filter."""
    if record.levelno == logging.INFO and str(record.msg).startswith(DETAILS[record.name]):
        record.levelno = logging.DEBUG
        record.levelname = "DEBUG"
    return True


def demote_details() -> None:
    """Have notices demoted by filters, which outlive Scrapy's configuration of the log."""
    for name in DETAILS:
        logging.getLogger(name).addFilter(demote)
