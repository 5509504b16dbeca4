"""A plain set: exact and answering at once, for crawls whose fingerprints fit in memory."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from webcrawl.seen.caches.protocol import UrlCache
from webcrawl.seen.front import unseen_lately
from webcrawl.seen.keylog import KeyLog
from webcrawl.seen.state import load
from webcrawl.seen.waiting import Waiting
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

logger = logging.getLogger(__name__)

BYTES = 100  # a key, at the most: 48 the int object, 27 to 53 its place in a set never more than 3/5 full


class MemorySeen:
    """Knows at once what is new. Beyond `memory` it goes on, and says so: nothing can be put elsewhere."""

    busy = False

    def __init__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,  # noqa: ARG002 - the Protocol's; nothing here takes time
    ) -> None:
        self._db, self._cache, self._largest = db, cache, memory // BYTES
        self._state = load(db, "memory")
        self._u = Waiting(db, self._state.begin, self._state.end)
        self._log = KeyLog(db)
        self._keys: set[int] = set()
        for keys in self._log.replay():
            self._keys.update(keys)
        db.join(self)

    def __repr__(self) -> str:
        return f"<MemorySeen keys={len(self._keys)} pending={self.pending}>"

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> None:
        batch, missed = unseen_lately(self._cache, self._state, keys, records)
        known, new, found = self._keys, array("Q"), []
        for key, record in zip(batch, missed, strict=True):
            if key not in known:
                known.add(key)
                new.append(key)
                found.append(record)
        if len(known) > self._largest >= len(known) - len(new):
            logger.warning("seen: over %d keys in memory; the disk store would keep to its bounds", self._largest)
        self._log.append(new)
        self._u.append(new, found)
        self._state.new += len(new)

    def take(self, limit: int) -> list[bytes]:
        begin, end = self._u.begin, min(self._u.begin + limit, self._u.end)
        return self._u.take(np.arange(begin, end), end)

    def merge(self) -> None:
        """There is never anything to merge."""

    @property
    def pending(self) -> int:
        return len(self._u)

    def stats(self) -> dict[str, int | float]:
        return self._state.stats(waiting=0, keys=self._state.new)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._log.save()
        self._u.save()
        self._state.save(self._db, self._u.begin, self._u.end, self._u.end)

    def check(self) -> Iterator[DamagedFile]:
        return self._u.check()

    def close(self) -> None:
        self._keys.clear()
