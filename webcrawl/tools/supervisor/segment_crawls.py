"""The crawls of `scrapy segments run`: each is an ordinary `scrapy crawl web`, one at a time."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Self

from scrapy.settings import Settings

from webcrawl import settings as defaults
from webcrawl.adapter.finished_crawl import NothingLeft
from webcrawl.adapter.preflight import preflight, spider_named
from webcrawl.base.errors import CannotStart
from webcrawl.store.disk import appending
from webcrawl.tools.supervisor.plan import command, given_by_command

SPIDER = "web"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def check_run(settings: Settings, folder: Path, arguments: Mapping[str, str]) -> None:
    """All that `scrapy crawl` checks before it starts. CannotStart."""
    if "follow" in arguments:
        raise CannotStart("-a follow: every crawl of a segment has follow=0")
    if settings["JOBDIR"] not in (defaults.JOBDIR, None) and Path(settings["JOBDIR"]) != folder:
        raise CannotStart(f"JOBDIR = {settings['JOBDIR']}: the crawls' is {folder}")
    with suppress(NothingLeft):  # the next segment may have something
        _preflight(settings, folder, arguments)


def _preflight(settings: Settings, folder: Path, arguments: Mapping[str, str]) -> None:
    own = settings.copy()
    own.setdict({"JOBDIR": str(folder), "URL_FOLLOW": False}, "cmdline")
    preflight(own, spider_named(own, SPIDER), {**arguments, "follow": "0"})


class SegmentCrawls:
    """As a context it takes Ctrl-C: a crawl ends as it would alone, and the builder stops where it is."""

    def __init__(self, settings: Settings, folder: Path, arguments: Mapping[str, str], log: Path) -> None:
        """`log` gets what the crawls say, unless they have a LOG_FILE."""
        self._settings, self._folder, self._log = settings, folder, log
        self._arguments = {name: value for name, value in arguments.items() if name not in ("seeds", "limit")}
        self._given = {**given_by_command(settings), "JOBDIR": str(folder)}
        self._process: subprocess.Popen[bytes] | None = None
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if self._before[number] is not signal.SIG_IGN:  # as nohup has it
                signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._process is None:
            raise KeyboardInterrupt
        self._process.send_signal(number)

    def crawl(self, segment: Path, *, wait: bool) -> int:
        """Crawls one; unless it is to `wait`, hosts that are away have their turn in a later segment's crawl."""
        arguments = {**self._seeds(segment), "follow": "0"}
        given = self._given if wait else {**self._given, "OUTAGE_END_WAIT": "0"}
        with appending(self._log) as log:
            process = subprocess.Popen(  # noqa: S603 - this very program
                command(SPIDER, arguments, given),
                stdin=subprocess.PIPE,  # which closes if this process is killed: then the crawl ends
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C comes from here only
            )
        self._process = process
        try:
            status = process.wait()
            return status if status >= 0 else 128 - status  # as a shell has it for a signal
        finally:
            self._process = None
            if process.stdin is not None:
                process.stdin.close()

    def is_complete(self, segment: Path) -> bool:
        """True if a crawl of it would end at once, because nothing is left to do."""
        try:
            _preflight(self._settings, self._folder, self._seeds(segment))
        except NothingLeft:
            return True
        return False

    def _seeds(self, segment: Path) -> dict[str, str]:
        return {**self._arguments, "seeds": str(segment)}
