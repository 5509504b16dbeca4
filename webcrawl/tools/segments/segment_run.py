"""Alternates builder and crawler until nothing is new: one segment is built, crawled to its end, and then the next.

All segments are crawled in one JOBDIR. So what is known of hosts stays known: delays, failures, robots.txt, budgets,
and URLs that wait for a host that is away. The builder's folder is below it. Both have checkpoints of their own, and
whichever was killed goes on from its last one: a segment counts as crawled when its crawl has said so.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, Self

from scrapy.settings import Settings

from webcrawl import settings as defaults
from webcrawl.adapter.preflight import preflight, spider_named
from webcrawl.base.cannot_start import CannotStart
from webcrawl.base.quantities import count
from webcrawl.crawl.segments import FOLDER
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.regular import appending
from webcrawl.tools.segments.builder import Builder
from webcrawl.tools.segments.left import left_by
from webcrawl.tools.segments.segment import Cut
from webcrawl.tools.supervisor.plan import command, given_by_command

FINISHED = "finished"


class Crawl(Protocol):
    """Crawls a segment to its end, and returns the exit status."""

    def __call__(self, segment: Path, /, *, wait: bool) -> int:
        """`wait`: for hosts that are away."""


@dataclass
class Run:
    """A whole run. `say` gets a line for each segment, and one at the end."""

    jobdir: Path
    values: Mapping[str, Any]
    seeds: str
    most: int
    needed: int
    crawl: Crawl
    say: Callable[[str], None]
    limit: int | None = None  # of seeds
    store: str = ""  # the index; empty: as it is, or exact
    _pages: int = field(default=0, init=False)

    def run(self) -> int:
        """The exit status. Whatever ends a crawl early ends the run, which may be resumed."""
        waited = False
        while True:
            number, path, made = self._next()
            if made is not None and not made.urls:
                if waited or not self._waits():
                    break
                waited = True
            elif made is not None:
                waited = False
            self._pages, before = self._stat("pages"), stats_file.stamp(self.jobdir)
            status = self.crawl(path, wait=waited)
            written = stats_file.stamp(self.jobdir) != before  # else what stands there is of another crawl
            reason = self._stats().get("reason") if written else None
            if status or reason != FINISHED:
                ended = f"exit status {status}" if status else f"it ended by {reason}"
                if not (status or reason):
                    status, ended = 1, "it has not said how it ended"
                self.say(f"{self.jobdir}: segment {number} is not crawled to its end ({ended}): run it again to resume")
                return status
            self._crawled(number, made)
        total = self._stat("pages")
        self.say(f"{self.jobdir}: {count(number, 'segment')}, {count(total, 'page')}: nothing is new")
        return 0

    def _next(self) -> tuple[int, Path, Cut | None]:
        """The segment to crawl: one that was made before (None), or what was made now."""
        with self._builder() as builder:
            if builder.waiting is not None:
                return builder.number, builder.path(builder.number), None
            builder.read_seeds()
            if is_crawl(self.jobdir):
                builder.read(left_by(self.jobdir))
            made = builder.make(self.most, self.needed)
            if not (made.urls or builder.number):
                raise StoreError(f"{self.seeds}: no seed is left that may be fetched")
            return builder.number, builder.path(builder.number), made

    def _builder(self) -> Builder:
        folder = self.jobdir / FOLDER
        return Builder(folder, self.values, seeds=self.seeds, limit=self.limit, store=self.store)

    def _crawled(self, number: int, made: Cut | None) -> None:
        with self._builder() as builder:
            builder.given()
        pages = self._stat("pages")
        if made is None or made.urls:
            of = f" of {count(made.hosts, 'host')}, {made.left} left for later" if made is not None else ""
            urls = count(made.urls, "URL") if made is not None else "resumed"
            self.say(f"segment {number}: {urls}{of}; {count(pages - self._pages, 'page')} fetched, {pages} in all")

    def _waits(self) -> bool:
        """True if the crawl has URLs of hosts that are away."""
        return self._stat("queued") > self._stat("over_budget")

    def _stat(self, name: str) -> int:
        return int(self._stats().get(name) or 0)

    def _stats(self) -> dict[str, Any]:
        """The figures of the last crawl; none before the first."""
        return stats_file.read(self.jobdir)


SPIDER = "web"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def check_run(settings: Settings, folder: Path, arguments: Mapping[str, str]) -> None:
    """All that `scrapy crawl` checks before it starts. CannotStart."""
    if "follow" in arguments:
        raise CannotStart("-a follow: every crawl of a segment has follow=0")
    if settings["JOBDIR"] not in (defaults.JOBDIR, None) and Path(settings["JOBDIR"]) != folder:
        raise CannotStart(f"JOBDIR = {settings['JOBDIR']}: the crawls' is {folder}")
    own = settings.copy()
    own.setdict({"JOBDIR": str(folder), "URL_FOLLOW": False}, "cmdline")
    preflight(own, spider_named(own, SPIDER), {**arguments, "follow": "0"})


class SegmentCrawls:
    """As a context it takes Ctrl-C: a crawl ends as it would alone, and the builder stops where it is."""

    def __init__(self, settings: Settings, folder: Path, arguments: Mapping[str, str], log: Path) -> None:
        """`log` gets what the crawls say, unless they have a LOG_FILE."""
        self._folder, self._log = folder, log
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
        arguments = {**self._arguments, "seeds": str(segment), "follow": "0"}
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
