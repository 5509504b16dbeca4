"""Alternates builder and crawler until nothing is new: one segment is built, crawled to its end, and then the next.

All segments are crawled in one JOBDIR. So what is known of hosts stays known: delays, failures, robots.txt, budgets,
and URLs that wait for a host that is away. The builder's folder is below it. Both have checkpoints of their own, and
whichever was killed goes on from its last one: a segment counts as crawled when its crawl has said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from webcrawl.base.readable import count
from webcrawl.crawl.segments import FOLDER
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.tools.segments.builder import Builder
from webcrawl.tools.segments.left import left_by
from webcrawl.tools.segments.segment import Cut

FINISHED = "finished"


class Crawls(Protocol):
    """The crawls of segments."""

    def crawl(self, segment: Path, /, *, wait: bool) -> int:
        """Crawls one to its end, and returns the exit status. `wait`: for hosts that are away."""

    def is_complete(self, segment: Path, /) -> bool:
        """Whether nothing of it is left to crawl, so that a crawl ends at once and writes no figures."""


@dataclass
class Run:
    """A whole run. `say` gets a line for each segment, and one at the end."""

    jobdir: Path
    values: Mapping[str, Any]
    seeds: str
    most: int
    needed: int
    crawls: Crawls
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
            status = self.crawls.crawl(path, wait=waited)
            if stats_file.stamp(self.jobdir) != before:  # else what stands there is of another crawl
                reason = self._stats().get("reason")
            else:
                reason = FINISHED if not status and self.crawls.is_complete(path) else None
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
