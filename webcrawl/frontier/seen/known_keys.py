"""F: all fingerprints ever found new. The latest are in memory, the others in sorted runs on disk."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import numpy as np

from webcrawl.frontier.seen.buffer import Frozen
from webcrawl.frontier.seen.keys import NO_KEYS, merged
from webcrawl.frontier.seen.runset import RunSet
from webcrawl.frontier.seen.sweep import Sweep, Swept
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Keys, between

NAME = "seen.fresh"


class Known:
    """F as of the last adopted merge; arrays and files are never modified, only replaced."""

    def __init__(self, db: CrawlDB, *, fresh_limit: int, growth: float) -> None:
        self._db, self._limit = db, fresh_limit
        self._fresh = self._saved = _stored(db)
        self._runs = RunSet(db, "url", 1, growth)

    def __repr__(self) -> str:
        return f"<Known fresh={len(self._fresh)} runs={self._runs!r}>"

    def __len__(self) -> int:
        return len(self._fresh) + len(self._runs)

    @property
    def files(self) -> int:
        return len(self._runs.runs)

    def next(self, low: int, high: int, most: int) -> Keys:
        """The first keys with low <= key <= high, at most so many."""
        pieces = [between(self._fresh[None], low, high)[0][:most]]
        pieces += [run.first(low, high, most)[0] for run in self._runs.runs]
        return merged(pieces)[:most]

    def holds(self, count: int) -> bool:
        """True if a merge of `count` records neither reads nor writes a file."""
        return not self.files and len(self._fresh) + count <= self._limit

    def sweep(self, frozen: Frozen, budget: int, stop: Event) -> Sweep:
        """The merge of T' with F, ready to run."""
        in_memory = len(self._fresh) + frozen.count <= self._limit
        replaced = [] if in_memory else self._runs.plan(len(self._fresh) + frozen.count)
        kept = [run for run in self._runs.runs if run not in replaced]
        create = None if in_memory else self._runs.create
        return Sweep(frozen, self._fresh, replaced, kept, create, budget, stop)

    def adopt(self, swept: Swept) -> None:
        """Replaces F by the merge's result."""
        self._fresh = swept.fresh
        self._runs.adopt(swept.change)

    def save(self) -> None:
        """Writes the keys in memory if they have changed: at most a megabyte."""
        self._runs.save()
        if self._fresh is not self._saved:
            self._db.set(NAME, self._fresh.astype("<u8").tobytes())
            self._saved = self._fresh

    def check(self) -> Iterator[DamagedFile]:
        return self._runs.check()

    def close(self) -> None:
        self._runs.close()


def _stored(db: CrawlDB) -> Keys:
    value = db.get(NAME) or b""
    keys = np.frombuffer(value[: len(value) & ~7], "<u8").astype(np.uint64) if value else NO_KEYS
    if len(value) % 8 or bool((keys[1:] <= keys[:-1]).any()):
        raise DamagedFile(db.path, 0, f"table meta, {NAME}: not ascending keys")
    return keys
