"""A Bloom filter (Nielsen's and Mischel's choice): small and immediate, but it loses some new URLs.

The bits are written to a file now and then (bloomfile.py), the keys added since to the key log. Saving only changed
blocks of bits would gain nothing: at 25,000 new keys per second all change between two checkpoints.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import chain
from pathlib import Path

from pybloom_live import BloomFilter

from webcrawl.frontier.seen import bloomfile
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.files import Names
from webcrawl.frontier.seen.journal import Journal
from webcrawl.frontier.seen.layout import BLOOM_FILE
from webcrawl.frontier.seen.protocol import unseen_lately
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

ERROR_RATE = 0.001  # share of new URLs taken for seen once the filter is full
SNAPSHOT = 1 << 20  # keys in the log before the bits are written: replaying them takes 5 s


class BloomSeen:
    """Decides at once, never with a false "new", and with at most `error_rate` false "seen" up to its capacity.

    `memory` determines the capacity: 14.4 bits per key for an error rate of 0.001. Beyond the capacity the rate
    grows; the excess keys are counted and logged.
    """

    busy = False

    def __init__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,  # noqa: ARG002 - the Protocol has it
        error_rate: float = ERROR_RATE,
        snapshot: int = SNAPSHOT,
    ) -> None:
        self._db, self._cache, self._snapshot = db, cache, snapshot
        self._journal = Journal(db, "bloom")
        self._state, self._log = self._journal.state, self._journal.keys
        self._names = Names(db.folder, db.disk, "bloom")
        self._file = self._named()
        if self._file is None:
            self._bloom = BloomFilter(_capacity(memory, error_rate), error_rate)
        else:
            self._bloom = bloomfile.read(self._file)
            db.presence.add(self._file, self._file.stat().st_size)
        self._names.clean({self._file.name} if self._file is not None else ())
        for keys in self._log.replay():
            for key in keys:
                self._add(key)
        self._warn_above = max(self._bloom.capacity, self._state.new)
        self._worker = Worker()
        self._writing: Future[Path] | None = None
        self._cut = 0  # the number of the first key that may be missing in the file being written
        db.join(self)

    def __repr__(self) -> str:
        return f"<BloomSeen keys={self._state.new}/{self._bloom.capacity} pending={self.pending}>"

    def _named(self) -> Path | None:
        name = self._db.get(BLOOM_FILE)
        return self._names.path(name.decode()) if name is not None else None

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        self._advance()
        batch, missed = unseen_lately(self._cache, self._state, keys, records)
        new, found = array("Q"), []
        for key, record in zip(batch, missed, strict=True):
            if not self._add(key):
                new.append(key)
                found.append(record)
        self._journal.append(new, found)
        if self._state.new > self._warn_above:
            self._warn_above = self._state.new + self._bloom.capacity // 10
            line = "seen: %d keys in a Bloom filter for %d: about one new URL in %d is lost"
            logger.warning(line, self._state.new, self._bloom.capacity, 1 / self._error_rate())
        return len(new)

    def _add(self, key: int) -> bool:
        """Adds the key; returns whether all its bits were set before."""
        # The library counts keys and raises beyond its capacity, which would end the crawl. Our state counts instead.
        self._bloom.count = 0
        return bool(self._bloom.add(key))

    def _error_rate(self) -> float:
        """The probability that all bits of a new key are set, computed from the number of keys."""
        on = -math.expm1(-self._state.new / self._bloom.bits_per_slice)
        return float(on**self._bloom.num_slices)

    def take(self, limit: int) -> list[bytes]:
        self._advance()
        return self._journal.take(limit)

    def merge(self) -> None:
        """Nothing ever waits for a merge."""
        self._advance()

    @property
    def pending(self) -> int:
        return len(self._journal)

    def stats(self) -> dict[str, int | float]:
        keys, capacity = self._state.new, self._bloom.capacity
        bloom = {"capacity": capacity, "over_capacity": max(0, keys - capacity), "error_rate": self._error_rate()}
        return {**self._state.stats(waiting=0, keys=keys, runs=int(self._file is not None)), **bloom}

    # -- the checkpoint

    def _advance(self) -> None:
        """Names a file that was completed; starts writing another when the log has grown long."""
        if self._writing is not None and self._worker.done(self._writing):
            try:
                path = self._writing.result()
            except OSError as error:
                raise StoreError(f"{self._names.folder}: {error}") from error
            self._writing = None
            self._db.set(BLOOM_FILE, path.name.encode())
            if self._file is not None:
                self._db.discard(self._file)
            self._file = path
            self._db.presence.add(path, path.stat().st_size)
            self._log.forget(self._cut)
        if self._writing is None and len(self._log) >= self._snapshot:
            self._cut = self._log.cut()
            self._writing = self._worker.submit(bloomfile.write, self._db.disk, self._names.new(), self._bloom)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._journal.save()

    def check(self) -> Iterator[DamagedFile]:
        files = bloomfile.check(self._file) if self._file is not None else ()
        return chain(self._journal.check(), files)

    def close(self) -> None:
        self._worker.close()


def _capacity(memory: int, error_rate: float) -> int:
    return max(1, int(memory * 8 * math.log(2) ** 2 / -math.log(error_rate)))
