"""Which hosts are paused by command: part of the checkpoint, and in force until they are resumed."""

from __future__ import annotations

from collections.abc import Iterator

import msgpack

from webcrawl.control.errors import CommandError
from webcrawl.store.crawldb import CrawlDB

META = "hosts paused"
MOST = 4096  # hosts; whoever wants to leave out more has `exclude`


class PausedHosts:
    """Their names, in the order in which they were paused."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._saved = db.get(META)
        self.names: dict[str, None] = dict.fromkeys(msgpack.unpackb(self._saved)) if self._saved is not None else {}
        db.join(self)

    def __repr__(self) -> str:
        return f"<PausedHosts {len(self.names)}>"

    def add(self, name: str) -> bool:
        """False if it is paused already."""
        if name in self.names:
            return False
        if len(self.names) >= MOST:
            raise CommandError(f"{MOST} hosts are paused already: resume one, or exclude what is not to be fetched")
        self.names[name] = None
        return True

    def remove(self, name: str) -> bool:
        """False if it was not paused."""
        if name not in self.names:
            return False
        del self.names[name]
        return True

    def told(self) -> Iterator[str]:
        """A line for each."""
        return (f"host {name} pause" for name in self.names)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        data = bytes(msgpack.packb([*self.names]))
        if data != self._saved and (self.names or self._saved is not None):
            self._db.set(META, data)
            self._saved = data
