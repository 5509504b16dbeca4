"""A seen store in memory: exact and immediate, for simulations and as a twin in tests."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from webcrawl.frontier.seen.bloom import Journal
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.protocol import SortedKeys, unseen_lately
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.runs import Keys, between

logger = logging.getLogger(__name__)

# At most: 48 for the int object, and 27 to 53 for its slots in a set that is at most 3/5 full
BYTES_PER_KEY = 100


class KeysInMemory:
    """Ascending keys in memory, in the form of a merge's input."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def next(self, low: int, high: int, most: int) -> Keys:
        found: Keys = between(self._keys[None], low, high)[0]
        return found[:most]


class MemorySeen:
    """A seen store that decides at once.

    Beyond `memory` it only logs a warning: it has no other place to put keys.
    """

    busy = False

    def __init__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,
    ) -> None:
        """Open the store with the keys of the last checkpoint."""
        self._cache = cache
        self._largest = memory // BYTES_PER_KEY  # keys, above which a warning is due
        self._journal = Journal(db, "memory")
        self._keys: set[int] = set()
        for keys in self._journal.keys.replay():
            self._keys.update(keys)
        db.join(self)

    def __repr__(self) -> str:
        return f"<MemorySeen keys={len(self._keys)} pending={self.pending}>"

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        """Decide on these keys, keep the records of new ones, and return how many are new."""
        batch, missed = unseen_lately(self._cache, self._journal.state, keys, records)
        known, new, found = self._keys, array("Q"), []
        for key, record in zip(batch, missed, strict=True):
            if key not in known:
                known.add(key)
                new.append(key)
                found.append(record)
        if len(known) > self._largest >= len(known) - len(new):
            logger.warning(
                "seen: over %d keys in memory, beyond SEEN_MEMORY; the disk store obeys it",
                self._largest,
            )
        self._journal.append(new, found)
        return len(new)

    def pop_new(self, limit: int) -> list[bytes]:
        return self._journal.pop_new(limit)

    def merge(self) -> None:
        """Do nothing: nothing ever waits for a merge."""

    def mark(self) -> int:
        return 0

    def decided(self, mark: int) -> bool:
        return mark <= 0  # all is decided when it is submitted

    def sorted_keys(self) -> SortedKeys:
        return KeysInMemory(np.sort(np.fromiter(self._keys, np.uint64, len(self._keys))))

    @property
    def pending(self) -> int:
        return len(self._journal)

    def stats(self) -> dict[str, int | float]:
        state = self._journal.state
        return state.stats(waiting=0, keys=state.new)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._journal.save()

    def close(self) -> None:
        self._keys.clear()
