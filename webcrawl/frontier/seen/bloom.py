"""A Bloom filter (Nielsen's and Mischel's choice): small and immediate, but it loses some new URLs.

The bits are written to a file now and then (bloomfile.py). The keys added since are in the key log,
rows of the table meta; replaying them restores the set. Saving only changed blocks of bits would
gain nothing: at 25,000 new keys per second all change between two checkpoints.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
from pybloom_live import BloomFilter

from webcrawl.frontier.seen.bloomfile import read_bits, write_bits
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.protocol import BLOOM_FILE, KEY_ROWS, load_state, unseen_lately
from webcrawl.frontier.seen.sorted_keys import Names, packed
from webcrawl.frontier.seen.waiting_records import WaitingRecords
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.worker import Worker

ROW = 8192  # keys per row: 64 KiB


class KeyLog:
    """Keys in order of arrival, numbered. The row `seen.keys.<n>` starts with key number n."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        found = db.query(
            "SELECT name, length(value) FROM meta WHERE name GLOB ?", (f"{KEY_ROWS}*",)
        )
        rows = sorted((int(name.removeprefix(KEY_ROWS)), size // 8) for name, size in found)
        self.begin = rows[0][0] if rows else 0
        self.end = self.begin
        for first, count in rows:
            if first != self.end:
                raise DamagedFile(db.path, 0, f"table meta, {KEY_ROWS}{self.end}: missing")
            self.end += count
        self._rows = deque(first for first, _ in rows)  # the first key number of each finished row
        self._keys = array("Q")  # the unfinished row
        self._saved = 0  # keys of that row that are written

    def __len__(self) -> int:
        return self.end - self.begin

    def append(self, keys: array[int]) -> None:
        """Add keys; a row that is full by them is finished."""
        self._keys.extend(keys)
        self.end += len(keys)
        if len(self._keys) >= ROW:
            self.finish_row()

    def finish_row(self) -> int:
        """Finish the last row, and return the number of the next key."""
        self.save()
        if self._keys:
            self._rows.append(self.end - len(self._keys))
            self._keys = array("Q")
            self._saved = 0
        return self.end

    def save(self) -> None:
        """Write the unfinished row, replacing its earlier version."""
        if len(self._keys) != self._saved:
            data = packed(self._keys)
            self._db.set(f"{KEY_ROWS}{self.end - len(self._keys)}", data)
            self._saved = len(self._keys)

    def forget(self, before: int) -> None:
        """Remove the rows before key number `before`, which starts a row."""
        self.begin = before
        while self._rows and self._rows[0] < before:
            self._db.execute(
                "DELETE FROM meta WHERE name = ?", (f"{KEY_ROWS}{self._rows.popleft()}",)
            )

    def replay(self) -> Iterator[list[int]]:
        """Yield the keys on disk, row by row."""
        for first in self._rows:
            yield np.frombuffer(self._db.get(f"{KEY_ROWS}{first}") or b"", "<u8").tolist()


class Journal:
    """Key log, counters, and the records not yet taken; `len` is the number of these."""

    def __init__(self, db: CrawlDB, store: str) -> None:
        self._db = db
        self.state = load_state(db, store)
        self.keys = KeyLog(db)
        self._waiting = WaitingRecords(db, self.state.begin, self.state.end)

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, keys: array[int], records: Sequence[bytes]) -> None:
        """Add new keys and their records."""
        self.keys.append(keys)
        self._waiting.append(keys, records)
        self.state.new += len(keys)

    def pop_new(self, limit: int) -> list[bytes]:
        """Return the next records: each one is new, as the filter has decided before."""
        begin = self._waiting.begin
        end = min(self._waiting.begin + limit, self._waiting.end)
        return self._waiting.pop_records(np.arange(begin, end), end)

    def save(self) -> None:
        self.keys.save()
        self._waiting.save()
        self.state.save(self._db, self._waiting.begin, self._waiting.end, self._waiting.end)


logger = logging.getLogger(__name__)

ERROR_RATE = 0.001  # share of new URLs taken for seen once the filter is full
# Keys in the log before the bits are written: replaying them takes 5 s. All bits are written,
# because a new key sets ten of them at random: from 3,700 new keys on, half of all blocks of 4 KiB
# have changed.
SNAPSHOT = 1 << 20


class BloomSeen:
    """Decides at once, never with a false "new", and with at most ERROR_RATE false "seen" up to its
    capacity.

    `memory` determines the capacity: 14.4 bits per key. Beyond the capacity the rate grows; the
    excess keys are counted and logged.
    """

    busy = False

    def __init__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,  # noqa: ARG002 - the Protocol has it
        snapshot: int = SNAPSHOT,
    ) -> None:
        self._db = db
        self._cache = cache
        self._snapshot = snapshot
        self._journal = Journal(db, "bloom")
        self._state = self._journal.state
        self._log = self._journal.keys
        self._names = Names(db.folder, db.disk, "bloom")
        self._file = self._named()  # the bits as of some earlier checkpoint; None: none yet
        if self._file is None:
            self._bloom = BloomFilter(_capacity(memory), ERROR_RATE)
        else:
            self._bloom = read_bits(self._file)
            db.presence.add(self._file, self._file.stat().st_size)
        self._names.clean({self._file.name} if self._file is not None else ())
        for keys in self._log.replay():
            for key in keys:
                self._add(key)
        self._warn_above = max(self._bloom.capacity, self._state.new)
        self._worker = Worker()
        self._writing: Future[Path] | None = None
        # the number of the first key that may be missing in the file being written
        self._first_unwritten = 0
        db.join(self)

    def __repr__(self) -> str:
        return f"<BloomSeen keys={self._state.new}/{self._bloom.capacity} pending={self.pending}>"

    def _named(self) -> Path | None:
        """Return the file of bits that the last checkpoint names, or None."""
        name = self._db.get(BLOOM_FILE)
        return self._names.path(name.decode()) if name is not None else None

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        """Add new keys and queue their records. Return how many were new."""
        self._advance()
        batch, missed = unseen_lately(self._cache, self._state, keys, records)
        new = array("Q")
        found = []
        for key, record in zip(batch, missed, strict=True):
            if not self._add(key):
                new.append(key)
                found.append(record)
        self._journal.append(new, found)
        if self._state.new > self._warn_above:
            self._warn_above = self._state.new + self._bloom.capacity // 10
            line = "seen: the Bloom filter holds %d keys, but was made for %d: about one new URL in %d is lost"
            logger.warning(line, self._state.new, self._bloom.capacity, 1 / self._error_rate())
        return len(new)

    def _add(self, key: int) -> bool:
        """Add the key, and return whether all its bits were set before."""
        # The library counts keys and raises beyond its capacity, which would end the crawl. Our
        # state counts instead.
        self._bloom.count = 0
        return bool(self._bloom.add(key))

    def _error_rate(self) -> float:
        """Return the probability that all bits of a new key are set, by the number of keys."""
        on = -math.expm1(-self._state.new / self._bloom.bits_per_slice)
        return float(on**self._bloom.num_slices)

    def pop_new(self, limit: int) -> list[bytes]:
        self._advance()
        return self._journal.pop_new(limit)

    def merge(self) -> None:
        """Nothing ever waits for a merge."""
        self._advance()

    @property
    def pending(self) -> int:
        return len(self._journal)

    def stats(self) -> dict[str, int | float]:
        """Return the figures of the store, with those of the filter."""
        keys = self._state.new
        capacity = self._bloom.capacity
        bloom = {
            "capacity": capacity,
            "over_capacity": max(0, keys - capacity),
            "error_rate": self._error_rate(),
        }
        return {
            **self._state.stats(waiting=0, keys=keys, runs=int(self._file is not None)),
            **bloom,
        }

    # -- the checkpoint

    def _advance(self) -> None:
        """Name a file that was completed; start writing another when the log has grown long.

        Raise StoreError if writing has failed.
        """
        if self._writing is not None and self._worker.done(self._writing):
            try:
                path = self._writing.result()
            except OSError as error:
                raise StoreError(f"{self._names.folder}: {error}") from error
            self._writing = None
            # The file is synced, so the next checkpoint may name it and drop the keys that it has.
            self._db.set(BLOOM_FILE, path.name.encode())
            if self._file is not None:
                self._db.discard(self._file)
            self._file = path
            self._db.presence.add(path, path.stat().st_size)
            self._log.forget(self._first_unwritten)
        if self._writing is None and len(self._log) >= self._snapshot:
            # The bits of all keys before this one are set already, so the file will have them.
            self._first_unwritten = self._log.finish_row()
            self._writing = self._worker.submit(
                write_bits, self._db.disk, self._names.new(), self._bloom
            )

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._journal.save()

    def close(self) -> None:
        self._worker.close()


def _capacity(memory: int) -> int:
    """Return how many keys a filter of so many bytes holds at ERROR_RATE."""
    return max(1, int(memory * 8 * math.log(2) ** 2 / -math.log(ERROR_RATE)))
