"""`scrapy crawl`, with checks before the start: any problem is one line and exit status 1.

A terminal that is closed (SIGHUP) ends the crawl as SIGTERM does, unless the signal is ignored, as
nohup has it.

Scrapy imports every command for any of them: what only a crawl needs is imported later.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
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

# Slurm sends one signal to each process of a job, and the job's shell passes it on once more.
SAME_SIGNAL_SECONDS = 0.5
# A crawl that gets a second signal must end within this time; then the kernel ends it.
FORCED_END_SECONDS = 10.0
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
NEVER = float("-inf")
Handler = Callable[[int, FrameType | None], object]


def _no_standstill() -> None:
    """Return None: this program does not watch its event loop."""


class OneSignal:
    """Decides what Ctrl-C (SIGINT) and SIGTERM do: the first ends the crawl well, the second at once.

    It stands before Scrapy's handlers, which do the same, but wait for a loop that stands still.
    Signals that come within SAME_SIGNAL_SECONDS count as one.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        arm: Callable[[float], None] | None = None,
        standstill: Callable[[], Standstill | None] = _no_standstill,
        is_over: Callable[[FrameType | None], bool] = lambda _: False,
    ) -> None:
        """`arm` sets the time after which the kernel ends the process.

        `standstill` returns the watch of the crawl's event loop, or None before there is one.
        `is_over`: whether nothing is left but threads for which the process waits.
        """
        self._clock = clock
        self._arm = arm or Alarm().arm
        self._standstill = standstill
        self._is_over = is_over
        self._last_at = NEVER
        self._scrapy_handlers: dict[int, Handler] = {}

    @property
    def was_heard(self) -> bool:
        """Return whether a signal to end has come."""
        return self._last_at != NEVER

    def install_soon(self) -> None:
        """Install the handler once the event loop runs.

        Scrapy installs its own handlers right before that, so call this earlier.
        """
        call_later(0, self.install)

    def install(self) -> None:
        """Take the place of the handlers that are installed now, and keep them to be called."""
        for number in ENDING_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self.handle:  # not signal.SIG_IGN
                self._scrapy_handlers[number] = handler
                signal.signal(number, self.handle)
        # A terminal that is closed ends the crawl in good order; under nohup SIGHUP is ignored.
        has_default_hangup = signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
        if has_default_hangup and signal.SIGTERM in self._scrapy_handlers:
            self._scrapy_handlers[signal.SIGHUP] = self._scrapy_handlers[signal.SIGTERM]
            signal.signal(signal.SIGHUP, self.handle)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """End the crawl at the first signal, and force the end at the second."""
        now = self._clock()
        # A closed terminal sends SIGHUP from the shell and from the kernel: one order, not two.
        if number == signal.SIGHUP and self.was_heard:
            return
        # The time is noted first: the next signal may come while this one is handled.
        before = self._last_at
        self._last_at = now
        if now - before < SAME_SIGNAL_SECONDS:
            self._last_at = before
            return
        is_second = before != NEVER
        standstill = self._standstill()
        if is_second:
            if self._is_over(frame):
                os._exit(ExitStatus.INTERRUPTED)
            if standstill is not None and standstill.stands:
                standstill.end(ExitStatus.INTERRUPTED)
            self._arm(FORCED_END_SECONDS)
        elif standstill is not None:
            standstill.note_stop()
        self._call_scrapy_handler(number, frame)
        self.install()

    def _call_scrapy_handler(self, number: int, frame: FrameType | None) -> None:
        """Call Scrapy's handler, and keep the handler that it installs from being installed.

        Slurm sends a signal to each process of a job, and the job's shell sends it on: the second
        came right after Scrapy had installed the handler that forces the end, and forced it.
        """
        install = signal.signal

        def keep(kind: int, handler: Handler | int) -> None:
            if callable(handler):
                self._scrapy_handlers[kind] = handler
            else:
                install(kind, handler)  # SIG_IGN: all further signals are ignored

        signal.signal = keep  # type: ignore[assignment]  # no other thread may install handlers
        try:
            self._scrapy_handlers[number](number, frame)
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
    """Scrapy's own command, with checks of settings, files and arguments before the spider runs."""

    begins_from_urls = True  # URLs and files may be given instead of a spider
    _start: StartArguments | None = None  # the URLs or files, if there are any

    @staticmethod
    def _is_spider(settings: Settings, name: str) -> bool:
        from webcrawl.adapter.preflight import spider_names  # noqa: PLC0415 - 0.4 s

        return name in spider_names(settings)

    def spider(self, args: list[str], opts: argparse.Namespace, settings: Settings) -> type[Spider]:
        """Return the spider that the command line names, or `web` for URLs and files.

        Raise UsageError if it names none, CannotStart if there is no such spider.
        """
        from webcrawl.adapter.preflight import spider_named  # noqa: PLC0415 - 0.4 s, here and below

        del opts
        if self._start is not None:
            return spider_named(settings, "web")
        unknown = next((arg for arg in args if arg.startswith("-")), None)
        if unknown is not None:
            raise UsageError(unknown_option(unknown), print_help=False)
        if len(args) != 1:
            raise _start_needed()
        return spider_named(settings, args[0])

    def syntax(self) -> str:
        return "[options] URL|FILE ... | SPIDER"

    def short_desc(self) -> str:
        return "Crawl from URLs, or from files of URLs or domains; or run a spider"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add Scrapy's options, those of a crawl from URLs or files, and --fresh, -q and -v."""
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
        """Run the checks. Scrapy has logged nothing yet, so their error is the only line."""
        try:
            self._prepare(args, opts)
        except KeyboardInterrupt:
            sys.exit(ExitStatus.INTERRUPTED)

    def _prepare(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options, find the spider and run the checks.

        Exit with one line if the crawl cannot start, or if it has nothing left to do.
        """
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
        except NothingLeft as notice:
            _print_and_log(str(notice), self.settings["LOG_FILE"])
            from webcrawl.adapter.values import plain_values  # noqa: PLC0415 - as above

            _wait_if_wanted(plain_values(self.settings, self._spider.name))
            sys.exit(ExitStatus.DONE)
        except CannotStart as error:
            _print_and_log(str(error), self.settings["LOG_FILE"])
            sys.exit(ExitStatus.FAILED)
        except (OSError, MemoryError, RuntimeError) as error:
            if not _is_refused_by_system(error):
                raise
            _print_and_log(_cannot_start(error), self.settings["LOG_FILE"])
            sys.exit(ExitStatus.FAILED)
        except SystemExit as error:  # while a module or class of the user's own is imported or made
            caller, status = _caller_and_status(error)
            _print_and_log(f"the crawl cannot start: {caller}", self.settings["LOG_FILE"])
            sys.exit(status)

    def _read_options(self, args: list[str], opts: argparse.Namespace, words: list[str]) -> None:
        """Apply Scrapy's options, and those of a crawl from URLs or files.

        `words` are the values of -s as they were typed.
        """
        if self.settings is not None:
            if not args:  # otherwise Scrapy takes the folder of -o for a feed
                raise _start_needed()
            self._start = start_of(args, partial(self._is_spider, self.settings))
            if self._start is not None:
                take_folder(opts, self.settings, words)
        try:
            super().process_options(args, opts)
        except UsageError as error:
            names_folder = any(not Path(name).suffix for name in opts.output or ())
            if self._start is not None or not names_folder:
                raise
            # Of a spider, -o names a feed, as in Scrapy
            line = f"{error} To name the folder of the crawl, use -s JOBDIR="
            raise UsageError(line, print_help=False) from error
        if self.settings is not None:
            apply(opts, self.settings, self._start, words)

    def check(self, settings: Settings, opts: argparse.Namespace) -> None:
        """Check settings, files and arguments, and choose the JOBDIR. Raise CannotStart."""
        from webcrawl.adapter.preflight import preflight  # noqa: PLC0415

        if self.begins_from_urls:
            check_spider(opts, makes_pages=getattr(self._spider, "makes_pages", False))
        if JOB in opts.spargs and settings["JOBDIR"] == defaults.JOBDIR:
            settings.set("JOBDIR", default_jobdir(self._spider.name, opts.spargs[JOB]))
        option = {"agent_option": "--user-agent "} if self.begins_from_urls else {}
        preflight(settings, self._spider, opts.spargs, again=opts.fresh, **option)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the crawl to its end, and set the exit status."""
        del args
        if self.crawler_process is None:
            raise RuntimeError("Scrapy runs this command with a crawler process")
        self._closed_well = False
        self._was_told_to_stop = False
        self._reason = ""
        self._exit_message = "the crawl cannot start: %s"
        # Its default would end the process. The crawl handles it once it is open.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self._crawler = self.crawler_process.create_crawler(self._spider)
        self._crawler.signals.connect(self._opened, signals.spider_opened)
        self._crawler.signals.connect(self._closed, signals.spider_closed)
        self._signals = OneSignal(
            standstill=partial(_standstill_of, self._crawler), is_over=self._waits_for_threads
        )
        try:
            crawling = self.crawler_process.crawl(self._crawler, **opts.spargs)
            if isinstance(crawling, asyncio.Task):
                crawling.add_done_callback(self._watch_exit)
            self._signals.install_soon()
            self.crawler_process.start()
        except SystemExit as error:  # wherever it was raised, it has ended the event loop
            caller, self.exitcode = _caller_and_status(error)
            logger.critical(self._exit_message, caller)
            return
        if self.crawler_process.bootstrap_failed:
            self.exitcode = ExitStatus.FAILED
        if isinstance(crawling, asyncio.Task) and crawling.done() and not crawling.cancelled():
            self._explain(crawling.exception())
        # After a second signal Scrapy ignores further ones, which is the only trace of a forced
        # end. A first signal that comes before the state is open ends the process too, but nothing has
        # changed by then.
        is_forced = signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        if is_forced and not self._closed_well:
            self.exitcode = ExitStatus.INTERRUPTED
        if not self.exitcode:
            self._set_status_by_reason()

    def _set_status_by_reason(self) -> None:
        """Set STOPPED_STATUS if the crawl was stopped. A finished drone may wait for orders."""
        from webcrawl.adapter.values import values_of  # noqa: PLC0415 - loaded by now

        values = values_of(self._crawler)
        if self._reason == FINISHED:
            _wait_if_wanted(values)
        else:
            self.exitcode = values["STOPPED_STATUS"]

    def _explain(self, error: BaseException | None) -> None:
        """Set exit status 1 and log why the crawl could not be opened or ended badly.

        Only an unexpected error has a traceback. A crawl that has logged the reason itself is
        not repeated.
        """
        from webcrawl.adapter.preflight import REASONS  # noqa: PLC0415

        if error is None:
            return
        self.exitcode = ExitStatus.FAILED
        if isinstance(error, EndedBadly) or was_logged(error):
            return
        if isinstance(error, REASONS):
            logger.critical("%s", str(error))
        elif _is_refused_by_system(error):
            logger.critical("%s", _cannot_start(error))
        else:
            logger.critical("%s", str(error), exc_info=error)

    def _opened(self) -> None:
        self._exit_message = "%s ended the crawl at once: it will resume from its last checkpoint"

    def _closed(self, reason: str) -> None:
        self._closed_well = True
        self._was_told_to_stop = getattr(self._crawler.engine.scheduler, "is_hurried", False)
        self._reason = reason
        self._exit_message = "%s ended the process after the crawl was closed"

    def _waits_for_threads(self, frame: FrameType | None) -> bool:
        from webcrawl.crawl.exit_watch import waits_for_threads  # noqa: PLC0415 - only a crawl needs it

        return self._closed_well and waits_for_threads(frame)

    def _watch_exit(self, _: object) -> None:
        from webcrawl.crawl.exit_watch import watch_exit  # noqa: PLC0415 - only a crawl needs it

        watch_exit(lambda: self._was_told_to_stop or self._signals.was_heard)


def _start_needed() -> UsageError:
    return UsageError(
        f"URLs or files are needed, or exactly one spider: {program()} crawl NAME", print_help=False
    )


def _wait_if_wanted(values: CheckedSettings) -> None:
    from webcrawl.adapter.after_crawl import wait_if_wanted  # noqa: PLC0415 - few want it

    wait_if_wanted(values)


def _standstill_of(crawler: Crawler) -> Standstill | None:
    """Return the watch of the event loop, or None if the crawl is not open or has another scheduler."""
    try:
        engine = crawler.engine
    except RuntimeError:  # it is not set yet
        return None
    return getattr(engine.scheduler, "standstill", None)


def _is_refused_by_system(error: BaseException) -> bool:
    """Return whether the operating system refused something, which is no mistake in code."""
    return isinstance(error, OSError) or bool(lack(error))


def _caller_and_status(error: SystemExit) -> tuple[str, int]:
    """Return which code called `sys.exit`, and the exit status.

    The status is not 0: a crawl that user code has ended early is no success. Raise `error` again
    if it is the add-on's own, which has printed the reason.
    """
    if isinstance(error.__cause__, CannotStart):
        raise error
    code = error.code
    # The shell sees the lowest eight bits only.
    status = code if isinstance(code, int) and code % 256 else ExitStatus.FAILED
    return f"sys.exit({code!r}){where(error)}", status


def _cannot_start(error: BaseException) -> str:
    return f"the crawl cannot start: {words_of(error)}"


def _print_and_log(line: str, log: Any) -> None:
    """Write to standard error, and to the log file, which is all that scrapyd shows of a job."""
    sys.stderr.write(f"{line}\n")
    if log:
        # The line is on standard error already.
        with suppress(OSError), Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


# Messages to demote, by logger and beginning. Other messages of these loggers, such as those on
# signals, stay at INFO.
DETAILS: dict[str, str | tuple[str, ...]] = {
    "scrapy.addons": "Enabled addons",
    "scrapy.crawler": "Overridden settings",
    "scrapy.middleware": "Enabled ",
    "scrapy.statscollectors": "Dumping Scrapy stats",
    "scrapy.utils.log": ("Scrapy %(version)s started", "Versions"),
}


def demote(record: logging.LogRecord) -> bool:
    """Demote a message that DETAILS lists to DEBUG, and let all pass. Used as a log filter."""
    if record.levelno == logging.INFO and str(record.msg).startswith(DETAILS[record.name]):
        record.levelno = logging.DEBUG
        record.levelname = "DEBUG"
    return True


def demote_details() -> None:
    """Add the filters that demote messages; they outlive Scrapy's configuration of the log."""
    for name in DETAILS:
        logging.getLogger(name).addFilter(demote)
