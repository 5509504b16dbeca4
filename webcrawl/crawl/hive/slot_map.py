"""The owners of all parts of the web: slots over drones, by rendezvous hashing with equal shares.

A partition (partition.py) gives each host a slot. Each slot goes to the drone that draws the greatest number for it and
has not got its share yet; shares differ by one slot at most. A drone which joins or leaves takes or gives only its own
share. Without shares, of 200 drones one would have 14 of 1,024 slots, and some none
(docs/hive.md#to-the-scale-of-the-web).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
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
        nobody = cls(generation - 1, (), array("H"))
        return nobody.resized(drones, groups)

    def resized(self, drones: Iterable[int], groups: Groups = ((),)) -> SlotMap:
        """The next map, with these members; no more slots move than must."""
        members = tuple(sorted(set(drones)))
        if not members or not 0 <= members[0] <= members[-1] < MOST_DRONES:
            raise ValueError(f"drones {members}: one or more are needed, with numbers from 0 to {MOST_DRONES - 1}")
        owners = array("H")
        for number, preferred in enumerate(groups):
            first = number * SLOTS
            able = [drone for drone in dict.fromkeys(preferred) if drone in members] or members
            owners.extend(_shared(first, self.owners[first : first + SLOTS], able))
        return SlotMap(self.generation + 1, members, owners)

    def owned(self, drone: int) -> list[int]:
        """The slots of this drone, ascending."""
        return [slot for slot, owner in enumerate(self.owners) if owner == drone]

    def moved(self, later: SlotMap) -> list[tuple[int, int, int]]:
        """The differences of a later map: slot, former owner, new owner."""
        both = zip(self.owners, later.owners, strict=True)
        return [(slot, before, after) for slot, (before, after) in enumerate(both) if before != after]

    def pack(self) -> bytes:
        return bytes(msgpack.packb((self.generation, self.drones, self.owners.tobytes())))

    @classmethod
    def unpack(cls, data: bytes) -> SlotMap:
        """The inverse of `pack`."""
        generation, drones, owners = msgpack.unpackb(data)
        return cls(generation, tuple(drones), array("H", owners))


def _shared(first: int, before: Sequence[int], able: Sequence[int]) -> list[int]:
    """The owners of a group's slots, which begin at `first`: those before as far as their shares allow."""
    owned: dict[int, list[int]] = {drone: [] for drone in able}
    free = [*range(first + len(before), first + SLOTS)]
    for slot, drone in enumerate(before, first):
        owned.get(drone, free).append(slot)
    share, more = divmod(SLOTS, len(able))
    shares = dict.fromkeys(able, share)
    for drone in sorted(able, key=lambda drone: -len(owned[drone]))[:more]:  # where the fewest have to move
        shares[drone] += 1
    for drone, slots in owned.items():
        slots.sort(key=lambda slot: _draw(slot, drone), reverse=True)
        free += slots[shares[drone] :]
        del slots[shares[drone] :]
    hungry = [drone for drone in able if len(owned[drone]) < shares[drone]]
    for slot in sorted(free):
        winner = max(hungry, key=lambda drone: _draw(slot, drone))
        owned[winner].append(slot)
        if len(owned[winner]) == shares[winner]:
            hungry.remove(winner)
    owners = {slot: drone for drone, slots in owned.items() for slot in slots}
    return [owners[slot] for slot in range(first, first + SLOTS)]


def _draw(slot: int, drone: int) -> int:
    return int(siphash(KEY, f"{slot} {drone}"))
