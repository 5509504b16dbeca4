"""The identity of a drone, which says whose a state is: part of the state itself, so that no other takes its place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgpack

from webcrawl.base.program import program
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.store.crawldb import CrawlDB

IDENTITY, MAP, KEY = "hive/identity", "hive/map", "key"


@dataclass(frozen=True, slots=True)
class Identity:
    """A drone's state; the id is drawn when the state is begun."""

    id: str
    name: str  # of the hive
    drone: int
    run: int  # how often it was opened

    def pack(self) -> bytes:
        return bytes(msgpack.packb((self.id, self.name, self.drone, self.run)))


def take_up(db: CrawlDB, name: str, drone: int) -> Identity:
    """The identity in this state, for one more run; a new one in a new state. Others know it from now on: it is kept.

    HiveError if the state belongs to another drone, or to a crawl of its own.
    """
    before = identity_of(db)
    jobdir = db.folder.parent
    if before is None and db.get(KEY) is not None:
        raise HiveError(f"{jobdir}: holds a crawl of its own, which cannot become a drone: use another JOBDIR")
    if before is not None and before.name != name and db.get(KEY) is None:
        before = None  # that hive has never let it in
    if before is not None and (before.name, before.drone) != (name, drone):
        raise HiveError(
            f"{jobdir}: is drone {before.drone} of the hive {before.name}, not drone {drone} of {name}: "
            "use another JOBDIR"
        )
    identity = Identity(before.id if before else os.urandom(8).hex(), name, drone, before.run + 1 if before else 1)
    db.set(IDENTITY, identity.pack())
    db.checkpoint()
    return identity


def identity_of(db: CrawlDB) -> Identity | None:
    """The identity of the drone whose state this is; None for a crawl of its own."""
    return unpacked(db.get(IDENTITY))


def unpacked(data: bytes | None) -> Identity | None:
    """The inverse of `Identity.pack`; None if there is nothing."""
    return None if data is None else Identity(*msgpack.unpackb(data))


def refuse_drone(db: CrawlDB) -> None:
    """Raises HiveError if this is a drone's state: alone it would take all hosts for its own."""
    identity = identity_of(db)
    if identity is not None:
        jobdir: Path = db.folder.parent
        raise HiveError(
            f"{jobdir}: is drone {identity.drone} of the hive {identity.name}: start it by `{program()} hive`, "
            "or with its HIVE_ settings"
        )


def saved_map(db: CrawlDB) -> SlotMap | None:
    """The slot map that this state was last saved with."""
    data = db.get(MAP)
    return None if data is None else SlotMap.unpack(data)


def keep_map(db: CrawlDB, slots: SlotMap) -> None:
    db.set(MAP, slots.pack())
