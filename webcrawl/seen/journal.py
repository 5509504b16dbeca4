"""What the stores that decide at once (memory.py, bloom.py) keep on disk: their keys and the new records."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from webcrawl.seen.keylog import KeyLog
from webcrawl.seen.state import load
from webcrawl.seen.waiting import Waiting
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile


class Journal:
    """Key log, counters, and the records not yet taken; `len` is the number of these."""

    def __init__(self, db: CrawlDB, store: str) -> None:
        self._db = db
        self.state = load(db, store)
        self.keys = KeyLog(db)
        self._waiting = Waiting(db, self.state.begin, self.state.end)

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, keys: array[int], records: Sequence[bytes]) -> None:
        """Adds new keys and their records."""
        self.keys.append(keys)
        self._waiting.append(keys, records)
        self.state.new += len(keys)

    def take(self, limit: int) -> list[bytes]:
        begin, end = self._waiting.begin, min(self._waiting.begin + limit, self._waiting.end)
        return self._waiting.take(np.arange(begin, end), end)

    def save(self) -> None:
        self.keys.save()
        self._waiting.save()
        self.state.save(self._db, self._waiting.begin, self._waiting.end, self._waiting.end)

    def check(self) -> Iterator[DamagedFile]:
        return self._waiting.check()
