"""How late the crawl's event loop comes to what is due: an extension that a benchmark adds to a
crawl.

A timer that is due every few milliseconds is late by what the turn before it took. Each line of the
file `turns` in JOBDIR counts, since the line before, the turns by their whole milliseconds: as they
were, and without the time in which others had the core, which says on a busy machine what a quiet
one would show.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.crawl.bound import thread_seconds

NAME = "turns"
TICK_SECONDS = 0.002  # from one turn that is measured to the next
LINE_SECONDS = 5.0  # that one line is about
SHARES = (0.5, 0.99, 0.999)
ADDED = "EXTENSIONS=" + json.dumps({f"{__name__}.Turns": 990})  # the setting with it


class Turns:
    """Counts the turns of the event loop from the spider's opening to its closing."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._delays = Counter[int]()  # turns by milliseconds
        self._own_delays = Counter[int]()  # without the time in which other threads had the core

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(Path(crawler.settings["JOBDIR"]))
        crawler.signals.connect(extension.opened, signals.spider_opened)
        crawler.signals.connect(extension.closed, signals.spider_closed)
        return extension

    def opened(self) -> None:
        self._path.touch()
        self._loop = asyncio.get_running_loop()
        self._begun = self._due = time.perf_counter()
        self._waited = thread_seconds()[1]
        self._timer = self._loop.call_later(TICK_SECONDS, self._note_delay)

    def closed(self) -> None:
        self._timer.cancel()
        self._write()

    def _note_delay(self) -> None:
        """Note how late this turn is, and set the timer of the next one."""
        now, waited = time.perf_counter(), thread_seconds()[1]
        late = now - self._due - TICK_SECONDS
        self._delays[round(1000 * max(late, 0))] += 1
        self._own_delays[round(1000 * max(late - (waited - self._waited), 0))] += 1
        if now - self._begun >= LINE_SECONDS:
            self._write()
            self._begun = now
        self._due, self._waited = time.perf_counter(), waited
        self._timer = self._loop.call_later(TICK_SECONDS, self._note_delay)

    def _write(self) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps({"was": self._delays, "own": self._own_delays}) + "\n")
        self._delays.clear()
        self._own_delays.clear()


def percentiles(folder: Path, skipped: int = 0) -> tuple[dict[str, int], int]:
    """Return the milliseconds below which shares of the turns stay, and the number of lines.

    The first `skipped` lines do not count.
    """
    lines = [json.loads(line) for line in (folder / NAME).read_text().splitlines()]
    return {
        f"{name}{label}": value
        for name, kind in (("", "was"), ("own_", "own"))
        for label, value in _shares(line[kind] for line in lines[skipped:])
    }, len(lines)


def _shares(counts: Iterable[dict[str, Any]]) -> list[tuple[str, int]]:
    total = Counter[int]()
    for each in counts:
        total.update({int(milliseconds): count for milliseconds, count in each.items()})
    values = sorted(total.elements())
    found = [
        (f"p{100 * share:g}_ms", values[int(share * len(values))]) for share in SHARES if values
    ]
    return [*found, ("max_ms", values[-1] if values else 0), ("turns", len(values))]
