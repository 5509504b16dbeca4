"""Which commands to all drones this one has carried out, and who shall share the web: part of its checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgpack

from webcrawl.hive.queen import Wanted
from webcrawl.store.crawldb import CrawlDB

META = "hive/obeyed"


class Obeyed:
    """`number`: of the last command."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self.number = 0
        self.wanted: Wanted | None = None  # None: nobody has asked for a change
        saved = db.get(META)
        if saved is not None:
            self.number, wanted = msgpack.unpackb(saved)
            if wanted is not None:
                self.resize(*wanted)
        self._saved = saved
        db.join(self)

    def __repr__(self) -> str:
        return f"<Obeyed {self.number} {self.wanted}>"

    def resize(self, members: Iterable[int], lost: Iterable[int] = ()) -> None:
        """These drones shall share the web; of those that are lost the state is gone for good."""
        before = self.wanted.lost if self.wanted is not None else frozenset()
        self.wanted = Wanted(frozenset(members), before.difference(members) | frozenset(lost))

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        wanted = None if self.wanted is None else (sorted(self.wanted.members), sorted(self.wanted.lost))
        data = bytes(msgpack.packb((self.number, wanted)))
        if data != self._saved:
            self._db.set(META, data)
            self._saved = data
