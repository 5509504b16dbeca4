"""The part on disk of a store that decides at once (bloom.py): its keys and the new records.

The keys are rows of the table meta; replaying them restores the set.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from webcrawl.frontier.seen.keys import packed
from webcrawl.frontier.seen.protocol import load_state
from webcrawl.frontier.seen.waiting_records import Waiting
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

ROW = 8192  # keys per row: 64 KiB
NAME = "seen.keys."


class KeyLog:
    """Keys in order of arrival, numbered. The row `seen.keys.<n>` starts with key number n."""

    def __init__(self, db: CrawlDB, row: int = ROW) -> None:
        self._db, self._size = db, row
        found = db.query("SELECT name, length(value) FROM meta WHERE name GLOB ?", (f"{NAME}*",))
        rows = sorted((int(name.removeprefix(NAME)), size // 8) for name, size in found)
        self.begin = rows[0][0] if rows else 0
        self.end = self.begin
        for first, count in rows:
            if first != self.end:
                raise DamagedFile(db.path, 0, f"table meta, {NAME}{self.end}: not there")
            self.end += count
        self._rows = deque(first for first, _ in rows)
        self._keys = array("Q")  # the unfinished row
        self._saved = 0

    def __len__(self) -> int:
        return self.end - self.begin

    def append(self, keys: array[int]) -> None:
        self._keys.extend(keys)
        self.end += len(keys)
        if len(self._keys) >= self._size:
            self.cut()

    def cut(self) -> int:
        """Finishes the last row; returns the number of the next key."""
        self.save()
        if self._keys:
            self._rows.append(self.end - len(self._keys))
            self._keys, self._saved = array("Q"), 0
        return self.end

    def save(self) -> None:
        """Writes the unfinished row, replacing its earlier version."""
        if len(self._keys) != self._saved:
            data = packed(self._keys)
            self._db.set(f"{NAME}{self.end - len(self._keys)}", data)
            self._saved = len(self._keys)

    def forget(self, before: int) -> None:
        """Removes the rows before key number `before`, which starts a row."""
        self.begin = before
        while self._rows and self._rows[0] < before:
            self._db.execute("DELETE FROM meta WHERE name = ?", (f"{NAME}{self._rows.popleft()}",))

    def replay(self) -> Iterator[list[int]]:
        """The keys on disk, row by row."""
        for first in self._rows:
            yield np.frombuffer(self._db.get(f"{NAME}{first}") or b"", "<u8").tolist()


class Journal:
    """Key log, counters, and the records not yet taken; `len` is the number of these."""

    def __init__(self, db: CrawlDB, store: str) -> None:
        self._db = db
        self.state = load_state(db, store)
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
