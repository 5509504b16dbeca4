"""Who owns which part of the web: slots over drones, by rendezvous hashing.

A partition (partition.py) gives each host a slot. Each slot belongs to the drone that draws the greatest number for it,
so that a drone which joins or leaves takes or gives only its own share.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgpack
from siphashc import siphash

SLOTS = 1 << 10  # of each group
MOST_DRONES = 1 << 12
KEY = b"webcrawl's slots"  # nothing can be won by aiming at it: it only says which drone draws which slot
Groups = Sequence[Sequence[int]]  # the drones that each group prefers; () for all


@dataclass(frozen=True, slots=True)
class SlotMap:
    """The owners of all slots; a later map has a higher generation."""

    generation: int
    drones: tuple[int, ...]  # all members, ascending
    owners: array[int]  # drone of each slot

    @classmethod
    def fair(cls, drones: Iterable[int], groups: Groups = ((),), generation: int = 1) -> SlotMap:
        """Of each group the drones that are members share its slots; if none is, all do."""
        members = tuple(sorted(set(drones)))
        if not members or not 0 <= members[0] <= members[-1] < MOST_DRONES:
            raise ValueError(f"drones {members}: one or more are needed, with numbers from 0 to {MOST_DRONES - 1}")
        owners = array("H")
        for number, preferred in enumerate(groups):
            able = [drone for drone in preferred if drone in members] or members
            owners.extend(_winner(number * SLOTS + slot, able) for slot in range(SLOTS))
        return cls(generation, members, owners)

    def resized(self, drones: Iterable[int], groups: Groups = ((),)) -> SlotMap:
        """The next map, with these members."""
        return SlotMap.fair(drones, groups, self.generation + 1)

    def owned(self, drone: int) -> list[int]:
        """The slots of this drone, ascending."""
        return [slot for slot, owner in enumerate(self.owners) if owner == drone]

    def moved(self, later: SlotMap) -> list[tuple[int, int, int]]:
        """What is different in a later map: slot, former owner, new owner."""
        both = zip(self.owners, later.owners, strict=True)
        return [(slot, before, after) for slot, (before, after) in enumerate(both) if before != after]

    def pack(self) -> bytes:
        return bytes(msgpack.packb((self.generation, self.drones, self.owners.tobytes())))

    @classmethod
    def unpack(cls, data: bytes) -> SlotMap:
        """The inverse of `pack`."""
        generation, drones, owners = msgpack.unpackb(data)
        return cls(generation, tuple(drones), array("H", owners))


def _winner(slot: int, drones: Sequence[int]) -> int:
    draw: Callable[[int], int] = lambda drone: siphash(KEY, f"{slot} {drone}")  # noqa: E731 - a key function
    return max(drones, key=draw)
