"""What filters have learned, as part of the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import msgpack

from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.filters.chain import Chain

META = "filters"


class FilterStates:
    """Saves and restores the states of a chain's filters, by name."""

    def __init__(self, db: CrawlDB, chain: Chain) -> None:
        self._db, self.chain = db, chain
        data = db.get(META)
        if data is not None:
            chain.restore(msgpack.unpackb(data))
        db.join(self)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        states = self.chain.state()
        if states:
            self._db.set(META, msgpack.packb(states))
