"""A drone's membership in its hive, and what it has for that.

Which commands to all drones it has carried out, and who shall share the web, is part of its checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import msgpack

from webcrawl.crawl.hive.drone import Drone
from webcrawl.crawl.hive.inbox import Inbox
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import Partition, SlotMap, Wanted
from webcrawl.store.crawldb import CrawlDB, Part

META = "hive/obeyed"


class Obeyed(Part):
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

    def resize(self, members: Iterable[int], lost: Iterable[int] = ()) -> None:
        """These drones shall share the web; of those that are lost the state is gone for good."""
        before = self.wanted.lost if self.wanted is not None else frozenset()
        self.wanted = Wanted(frozenset(members), before.difference(members) | frozenset(lost))

    def save(self) -> None:
        wanted = None if self.wanted is None else (sorted(self.wanted.members), sorted(self.wanted.lost))
        data = bytes(msgpack.packb((self.number, wanted)))
        if data != self._saved:
            self._db.set(META, data)
            self._saved = data


@dataclass(frozen=True, slots=True)
class Membership:
    """The place of a drone in its hive, known before its crawl is opened."""

    me: int
    name: str  # of the hive
    key: bytes  # of all its hashes
    slots: SlotMap
    partition: Partition

    @property
    def hive(self) -> bytes:
        """The mark that letters of this hive are known by."""
        return blake2b(self.key, digest_size=16, person=b"webcrawl hive").digest()


@dataclass(frozen=True, slots=True)
class Post:
    """A drone with its letters."""

    drone: Drone
    outbox: Outbox
    inbox: Inbox
    obeyed: Obeyed

    def part(self) -> float:
        """Of the slots of the hive, the part that is here."""
        owned = self.drone.moving.owned
        return owned.count(1) / len(owned) if owned else 1.0

    def stats(self) -> dict[str, int]:
        """Counters of this run."""
        return {**self.drone.stats(), **{f"letters/{name}": n for name, n in self.outbox.stats().items()}}
