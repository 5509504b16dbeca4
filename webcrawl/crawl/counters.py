"""Counters of the whole crawl, over all its runs; part of the checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgpack

from webcrawl.store.crawldb import CrawlDB

META = "tallies"


class SavedCounters:
    """Restores these counters from the last checkpoint, and saves them with each."""

    def __init__(self, db: CrawlDB, counters: Mapping[str, Counter[str]]) -> None:
        self._db, self._counters = db, counters
        data = db.get(META)
        saved = msgpack.unpackb(data) if data is not None else {}
        for name, counter in counters.items():
            counter.update(saved.get(name, {}))
        db.join(self)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._db.set(META, msgpack.packb(self._counters))
