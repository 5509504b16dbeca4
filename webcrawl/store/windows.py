"""From when to when nobody knows what became of requests: a crawl was killed there.

What a run did after its last checkpoint is in requests.log, which is never cut back, and not in crawl.log, which is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgpack

from webcrawl.store.crawldb import CrawlDB

KEY = "requests.windows"
MOST = 1000  # windows; then the oldest is forgotten
Window = tuple[float, float]  # seconds since 1970: the last checkpoint before a kill, and the start after it


class Windows:
    """Part of each checkpoint. A run that ends without having said so leaves a window."""

    def __init__(self, db: CrawlDB, clock: Callable[[], float]) -> None:
        self._db, self._clock = db, clock
        saved_at, self.found = read(db.get(KEY))
        if saved_at:
            self.found = [*self.found, (saved_at, clock())][-MOST:]
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
        saved_at = 0.0 if self._over else self._clock()
        self._db.set(KEY, bytes(msgpack.packb((saved_at, self.found))))


def read(data: bytes | None) -> tuple[float, list[Window]]:
    """The time of the last checkpoint of a run that may be under way, 0 if none is; and all windows before it."""
    if data is None:
        return 0.0, []
    saved_at, windows = msgpack.unpackb(data)
    return float(saved_at), [(float(since), float(until)) for since, until in windows]
