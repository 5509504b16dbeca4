"""Pages that a checkpoint left out because they were waiting for an inline download: the next run fetches them again.

What they had done by then is part of the checkpoint, and must not be done twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgpack

from webcrawl.store.crawldb import CrawlDB

META = "halfway"


class Halfway:
    """By page: the keys of the inline downloads that are logged and archived."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        data = db.get(META)
        self._before: dict[str, set[bytes]] = {}  # of former runs
        if data is not None:
            self._before = {url: set(keys) for url, keys in msgpack.unpackb(data).items()}
        self._now: dict[str, set[bytes]] = {}
        self._saved = bool(self._before)
        db.join(self)

    def __bool__(self) -> bool:
        """Whether there is any page, which in most crawls there never is."""
        return bool(self._now or self._before)

    def __repr__(self) -> str:
        return f"<Halfway before={len(self._before)} now={len(self._now)}>"

    def comes_again(self, page: str) -> bool:
        """Whether a former run had begun to process this page: its body is no duplicate of its own."""
        return page in self._before

    def is_new(self, page: str, key: bytes) -> bool:
        """Whether this download of the page has not been logged and archived by a former run; notes it."""
        if key in self._before.get(page, ()):
            return False
        self._now.setdefault(page, set()).add(key)
        return True

    def leave_out(self, pages: Iterable[str]) -> None:
        """These pages are being processed, and not in the checkpoint that follows."""
        for page in pages:
            self._now.setdefault(page, set())

    def finished(self, page: str) -> None:
        self._now.pop(page, None)
        self._before.pop(page, None)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        if self or self._saved:
            urls = {**self._before, **self._now}
            pages = {url: [*self._before.get(url, ()), *self._now.get(url, ())] for url in urls}
            self._db.set(META, msgpack.packb(pages))
            self._saved = bool(pages)
