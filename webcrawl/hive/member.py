"""What a drone is in its hive, and what it has for that."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from webcrawl.hive.drone import Drone
from webcrawl.hive.inbox import Inbox
from webcrawl.hive.obeyed import Obeyed
from webcrawl.hive.outbox import Outbox
from webcrawl.hive.partition import Partition
from webcrawl.hive.slots import SlotMap


@dataclass(frozen=True, slots=True)
class Membership:
    """What a drone must know before its crawl can be opened."""

    me: int
    name: str  # of the hive
    key: bytes  # of all its hashes
    slots: SlotMap
    partition: Partition

    @property
    def hive(self) -> bytes:
        """What letters of this hive are known by."""
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
