"""The identity of a drone, and what it keeps as a member of its hive.

The identity says whose a state is, and is part of the state itself, so that no other takes its
place. Which commands to all drones were carried out, and who shall share the web, is part of each
checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgpack

from webcrawl.base.program import program
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import NO_ORDER, Partition, SlotMap, WantedMembers
from webcrawl.store.crawldb import CrawlDB, Part, SavedValue

if TYPE_CHECKING:  # a crawl of its own looks for an identity, and loads none of these
    from webcrawl.crawl.hive.batch import Inbox
    from webcrawl.crawl.hive.drone import Drone
    from webcrawl.crawl.hive.fence import Fence
    from webcrawl.crawl.hive.outbox import Outbox

IDENTITY, MAP, KEY = "hive/identity", "hive/map", "key"


@dataclass(frozen=True, slots=True)
class Identity:
    """Identifies a drone's state. The id is random, drawn when the state is created."""

    id: str
    name: str  # of the hive
    drone: int
    run: int  # how often it was opened

    def pack(self) -> bytes:
        return bytes(msgpack.packb((self.id, self.name, self.drone, self.run)))


def take_identity(db: CrawlDB, name: str, drone: int) -> Identity:
    """Return the identity of this state for one more run, or a new one; it is saved at once.

    Raise HiveError if the state belongs to another drone, or to a crawl of its own.
    """
    before = identity_of(db)
    jobdir = db.folder.parent
    has_key = db.get(KEY) is not None
    if before is None and has_key:
        raise HiveError(
            f"{jobdir}: holds a crawl that is not part of a hive and cannot become a drone: use another JOBDIR"
        )
    if before is not None and before.name != name and not has_key:
        before = None  # that hive has never let it in
    if before is None:
        identity = Identity(os.urandom(8).hex(), name, drone, 1)
    elif (before.name, before.drone) == (name, drone):
        identity = replace(before, run=before.run + 1)
    else:
        raise HiveError(
            f"{jobdir}: belongs to drone {before.drone} of the hive {before.name}, not to drone "
            f"{drone} of {name}: use another JOBDIR"
        )
    db.set(IDENTITY, identity.pack())
    db.checkpoint()
    return identity


def identity_of(db: CrawlDB) -> Identity | None:
    """Return the identity of the drone whose state this is, or None for a crawl of its own."""
    return unpack_identity(db.get(IDENTITY))


def unpack_identity(data: bytes | None) -> Identity | None:
    """Return what `Identity.pack` has packed, or None if there is nothing."""
    return None if data is None else Identity(*msgpack.unpackb(data))


def refuse_drone(db: CrawlDB) -> None:
    """Raise HiveError if this is a drone's state: alone it would take all hosts for its own."""
    identity = identity_of(db)
    if identity is not None:
        jobdir: Path = db.folder.parent
        raise HiveError(
            f"{jobdir}: belongs to drone {identity.drone} of the hive {identity.name}: start it "
            f"with `{program()} hive`, or with its HIVE_ settings"
        )


def saved_map(db: CrawlDB) -> SlotMap | None:
    """Return the slot map that this state was last saved with."""
    data = db.get(MAP)
    return None if data is None else SlotMap.unpack(data)


def keep_map(db: CrawlDB, slots: SlotMap) -> None:
    db.set(MAP, slots.pack())


OBEYED = "hive/obeyed"


def obeyed_number(saved: bytes | None) -> int:
    """Return the number of the last command that was carried out, as OBEYED has it."""
    return 0 if saved is None else int(msgpack.unpackb(saved)[0])


class ObeyedCommands(Part):
    """Keeps the number of the last command that was carried out, and who shall share the web."""

    def __init__(self, db: CrawlDB) -> None:
        """Resume from what the last checkpoint has, if it has anything."""
        self.number = 0
        self.wanted: WantedMembers | None = None  # by the last order; None: there was none
        # The crawl of all drones has ended in this run, and none has got a page.
        self.gave_nothing = False
        self._saved = SavedValue(db, OBEYED)
        if self._saved.data is not None:
            self.number, wanted = msgpack.unpackb(self._saved.data)
            if wanted is not None:
                self.resize(*wanted)
        db.join(self)

    def resize(self, members: Iterable[int], lost: Iterable[int] = ()) -> None:
        """Note that these drones shall share the web, and that the lost ones are gone for good."""
        self.wanted = (self.wanted or NO_ORDER).followed_by(members, lost)

    def save(self) -> None:
        wanted = (
            None if self.wanted is None else (sorted(self.wanted.members), sorted(self.wanted.lost))
        )
        self._saved.save(msgpack.packb((self.number, wanted)))


@dataclass(frozen=True, slots=True)
class Membership:
    """The place of a drone in its hive, known before its crawl is opened."""

    me: int
    name: str  # of the hive
    key: bytes  # of all its hashes
    slots: SlotMap
    partition: Partition


@dataclass(frozen=True, slots=True)
class DroneParts:
    """The parts of a crawl that is a drone, beside those that every crawl has."""

    drone: Drone
    outbox: Outbox
    inbox: Inbox
    obeyed: ObeyedCommands
    fence: Fence

    def share_of_slots(self) -> float:
        """Return the share of the hive's slots that is here, from 0 to 1."""
        owned = self.drone.slot_moves.owned
        return owned.count(1) / len(owned) if owned else 1.0

    def stats(self) -> dict[str, int]:
        """Return the counters of this run."""
        return {
            **self.drone.stats(),
            **{f"batches/{name}": n for name, n in self.outbox.stats().items()},
            "gave_nothing": int(self.obeyed.gave_nothing),
        }
