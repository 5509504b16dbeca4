"""From when to when nobody knows what became of requests: a crawl was killed there.

What a run did after its last checkpoint is in requests.log, which is never cut back, and not in crawl.log, which is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgpack

from webcrawl.store.crawldb import CrawlDB

KEY = "requests.windows"
MOST = 1000  # windows; then the oldest is forgotten
Window = tuple[float, float]  # seconds since 1970: the last checkpoint before a kill, and the start after it


class Saved(NamedTuple):
    """What the last checkpoint knows."""

    at: float = 0.0  # its time; 0: there was none
    over: bool = True  # no request followed in its run
    windows: tuple[Window, ...] = ()


class Windows:
    """Part of each checkpoint. A run that ends without having said so leaves a window.

    `asked`: when the last request known of was sent, 0 if none was. Of a run that was killed before its first
    checkpoint nothing else is left.
    """

    def __init__(self, db: CrawlDB, clock: Callable[[], float], asked: float = 0.0) -> None:
        self._db, self._clock = db, clock
        saved = read(db.get(KEY))
        self.found = [*saved.windows]
        if is_open(saved, asked):
            self.found = [*self.found, (saved.at, clock())][-MOST:]
        self._over = False
        db.join(self)

    def __repr__(self) -> str:
        return f"<Windows {len(self.found)}>"

    def end(self) -> None:
        """No request follows."""
        self._over = True

    def prepare(self) -> Iterator[None]:
        """There is nothing to do ahead."""
        yield from ()

    def save(self) -> None:
        self._db.set(KEY, bytes(msgpack.packb((self._clock(), self.found, self._over))))


def is_open(saved: Saved, asked: float) -> bool:
    """Whether something was done after this checkpoint that no later one knows of."""
    return not saved.over or asked > saved.at


def read(data: bytes | None) -> Saved:
    """What a checkpoint has saved."""
    if data is None:
        return Saved()
    at, windows, *over = msgpack.unpackb(data)
    found = tuple((float(since), float(until)) for since, until in windows)
    if not over:  # of an earlier version: 0 is the end of a run, whenever that was
        return Saved(float(at) or float("inf"), over=not at, windows=found)
    return Saved(float(at), bool(over[0]), found)
