"""Divides the web among drones: each host belongs to one slot, and each slot to one drone.

Never by URL, which would put a host in two hands. Fingerprints begin with the slot, so that those
of a slot are one range of the sorted files, and can be moved.

Of a host, `Partition` names the slot. Slots are hashes of names, so that any of them are as good as
others: a drone begins with neighbours, and shares differ by one slot at most. A drone which joins
or leaves takes or gives only its own share (docs/hive-protocol.md#scale).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import msgpack
from siphashc import siphash

from webcrawl.base import zstd_frame
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.urls.url_fingerprint import Fingerprints

SLOTS = 1 << 14  # of each group, in a hive that is founded now
# In hives of an earlier version. Fingerprints begin with the slot: a hive keeps its number of slots
EARLIER_SLOTS = 1 << 10
MAX_DRONES = (1 << 16) - 1  # owners are of 16 bits, in maps and in letters
NOBODY = MAX_DRONES  # in the place of an owner
MAX_OWNERS_BYTES = 1 << 24  # bytes of a packed map's owners: of 512 groups
ZSTD = b"\x28\xb5\x2f\xfd"  # a frame begins with it; as owners these are drones 46,376 and 64,815
Groups = Sequence[Sequence[int]]  # the drones that each group prefers; () for all


@dataclass(frozen=True, slots=True)
class SlotMap:
    """The owners of all slots; a later map has a higher generation.

    Reports are lost with the server. That a drone which is no member still has something to give
    away is therefore part of the map, which every drone keeps.
    """

    generation: int
    drones: tuple[int, ...]  # all members, ascending
    owners: array[int]  # drone of each slot
    leaving: tuple[int, ...] = ()  # were members, and have not been released yet

    @classmethod
    def fair(
        cls,
        drones: Iterable[int],
        groups: Groups = ((),),
        generation: int = 1,
        slots: int = SLOTS,
    ) -> SlotMap:
        """Return a map: members of a group share its slots; if there is none, all drones do."""
        nobody = cls(generation - 1, (), array("H", [NOBODY]) * (slots * len(groups)))
        return nobody.resized(drones, groups)

    def resized(
        self, drones: Iterable[int], groups: Groups = ((),), lost: Collection[int] = ()
    ) -> SlotMap:
        """Return the next map, with these members; no more slots move than must.

        Nothing is awaited of those that are lost.
        """
        there = set(drones)
        members = tuple(sorted(there))
        if not members or not 0 <= members[0] <= members[-1] < MAX_DRONES:
            raise ValueError(
                f"drones = {members}: must be one or more numbers from 0 to {MAX_DRONES - 1}"
            )
        owners = array("H")
        slots = self.slots_of(groups)
        for number, preferred in enumerate(groups):
            before = self.owners[number * slots : (number + 1) * slots]
            able = [drone for drone in dict.fromkeys(preferred) if drone in there] or members
            owners.extend(_shared(before, able))
        leaving = {*self.drones, *self.leaving}.difference(members, lost)
        return SlotMap(self.generation + 1, members, owners, tuple(sorted(leaving)))

    def without(self, gone: Collection[int]) -> SlotMap:
        """Return the next map, which these drones have left."""
        leaving = tuple(drone for drone in self.leaving if drone not in gone)
        return replace(self, generation=self.generation + 1, leaving=leaving)

    def slots_of(self, groups: Groups) -> int:
        """Return how many slots each of these groups has."""
        return len(self.owners) // len(groups)

    def owned(self, drone: int) -> list[int]:
        """Return the slots of this drone, ascending."""
        return [slot for slot, owner in enumerate(self.owners) if owner == drone]

    def moved(self, later: SlotMap) -> list[tuple[int, int, int]]:
        """Return the differences of a later map: slot, former owner, new owner."""
        both = zip(self.owners, later.owners, strict=True)
        return [
            (slot, before, after) for slot, (before, after) in enumerate(both) if before != after
        ]

    def pack(self) -> bytes:
        """Return the map as it is kept and sent: 4 KB of 1,000 drones, as neighbours have one owner."""
        owners = zstd_frame.pack(self.owners.tobytes())
        return bytes(msgpack.packb((self.generation, self.drones, owners, self.leaving)))

    @classmethod
    def unpack(cls, data: bytes) -> SlotMap:
        """Return the map that `pack` has packed, here or in an earlier version."""
        generation, drones, owners, *leaving = msgpack.unpackb(data)
        if owners.startswith(ZSTD):  # an earlier version did not compress it
            owners = zstd_frame.unpack(owners, MAX_OWNERS_BYTES)
        return cls(generation, tuple(drones), array("H", owners), *map(tuple, leaving))


def _shared(before: Sequence[int], able: Sequence[int]) -> list[int]:
    """Return the owners of a group's slots: those before, within their shares."""
    owned: dict[int, list[int]] = {drone: [] for drone in able}
    free: list[int] = []
    for slot, drone in enumerate(before):
        owned.get(drone, free).append(slot)
    share, more = divmod(len(before), len(able))
    shares = dict.fromkeys(able, share)
    # where the fewest have to move
    for drone in sorted(able, key=lambda drone: -len(owned[drone]))[:more]:
        shares[drone] += 1
    for drone, slots in owned.items():
        free += slots[shares[drone] :]
        del slots[shares[drone] :]
    free.sort()
    given = 0
    for drone, slots in owned.items():
        missing = shares[drone] - len(slots)
        slots.extend(free[given : given + missing])
        given += missing
    owners = [NOBODY] * len(before)
    for drone, slots in owned.items():
        for slot in slots:
            owners[slot] = drone
    return owners


@dataclass(frozen=True, slots=True)
class WantedMembers:
    """An operator's order: which drones shall have the slots, and which states are gone for good."""

    members: frozenset[int]
    # Given up by this order or an earlier order, and no member since
    lost: frozenset[int] = frozenset()
    number: int = 0  # of the command; 0: it is not known here

    @property
    def sharing(self) -> frozenset[int]:
        """Return the drones that have all slots once the order is carried out."""
        return self.members - self.lost

    def followed_by(
        self, members: Iterable[int], lost: Iterable[int], number: int = 0
    ) -> WantedMembers:
        """Return the next order. A drone that was given up stays lost until it is a member again."""
        now = frozenset(members)
        return WantedMembers(now, (self.lost - now) | frozenset(lost), number)


NO_ORDER = WantedMembers(frozenset())  # before the first order


BY_DOMAIN, BY_HOST, BY_TLD = "domain", "host", "tld"
WAYS = (BY_DOMAIN, BY_HOST, BY_TLD)
PARTS = b"webcrawl's parts"  # the same in all drones
CACHED = 1 << 16  # hosts

# a slash from here on ends the host of a URL; one that ends a shorter URL's earlier is passed over
AUTHORITY = 9
CACHED_ORIGINS = 1 << 16  # beginnings of URLs, one per scheme and host


class Partition:
    """The slot of a host. `groups` says which drones a region prefers (SlotMap.fair)."""

    def __init__(
        self,
        way: str,
        domain_of: Callable[[str], str],
        regions: Mapping[str, Sequence[int]] | None = None,
        slots: int = SLOTS,
    ) -> None:
        """`regions`: suffixes such as `de` or `co.uk`, and their drones; `way` divides each.

        `slots`: of each group.
        """
        keys: dict[str, Callable[[str], str]] = {
            BY_DOMAIN: domain_of,
            BY_HOST: str,
            BY_TLD: lambda host: _last_label(domain_of(host)),
        }
        self._key = keys[way]
        self.way = way
        self.slots = slots
        self._domain_of = domain_of
        self._regions = regions = regions or {}
        self._numbers = {suffix: number for number, suffix in enumerate(regions, 1)}
        self.groups: tuple[tuple[int, ...], ...] = (
            (),
            *(tuple(drones) for drones in regions.values()),
        )
        self.essence = f"{way} {' '.join(f'{suffix}={list(drones)}' for suffix, drones in regions.items())}".strip()
        self.slot: Callable[[str], int] = lru_cache(CACHED)(self._draw)

    def dividing(self, slots: SlotMap) -> Partition:
        """Return this partition with as many slots as the hive of this map was founded with.

        Raise HiveError if the map is of a hive that is divided in another way.
        """
        each = slots.slots_of(self.groups)
        if each * len(self.groups) != len(slots.owners) or each not in (EARLIER_SLOTS, SLOTS):
            raise HiveError(
                f"HIVE_PARTITION = {self.essence}: the hive was founded with another one: its map "
                f"has {len(slots.owners)} slots, which are not those of {len(self.groups)} groups"
            )
        if each == self.slots:
            return self
        return Partition(self.way, self._domain_of, self._regions, each)

    def _draw(self, host: str) -> int:
        return self._group(host) * self.slots + siphash(PARTS, self._key(host)) % self.slots

    def _group(self, host: str) -> int:
        """Return the group by the registered domain; the longest suffix decides.

        So all hosts of a domain are in the same group.
        """
        rest = self._domain_of(host) if self._numbers else ""
        while rest:
            if rest in self._numbers:
                return self._numbers[rest]
            rest = rest.partition(".")[2]
        return 0


def _last_label(name: str) -> str:
    label = name.rpartition(".")[2]
    return name if label.isdecimal() or name[0] == "[" else label


def read_regions(path: Path) -> dict[str, tuple[int, ...]]:
    """Read a file with a line for each region: a suffix, and its drones: `de 0,1`.

    `#` begins a comment.
    """
    regions: dict[str, tuple[int, ...]] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise HiveError(f"{path}: cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise HiveError(f"{path}: is not UTF-8 text") from error
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        drones = words[1].split(",") if len(words) == 2 else []
        if not drones or not all(one.isdecimal() and int(one) < MAX_DRONES for one in drones):
            raise HiveError(
                f"{path}, line {number}: expected a domain ending and numbers of drones, such as: de 0,1"
            )
        regions[words[0].strip(".").lower()] = tuple(map(int, drones))
    return regions


def partition_of(way: str, domain_of: Callable[[str], str]) -> Partition:
    """Return the partition of HIVE_PARTITION: one of WAYS, or a file of regions by domain."""
    if way in WAYS:
        return Partition(way, domain_of)
    return Partition(BY_DOMAIN, domain_of, read_regions(Path(way)))


def _hash_bits(slots: int) -> int:
    """Return how many bits of a fingerprint are below those of the slot: 50 of 16,384 slots."""
    return 64 - (slots - 1).bit_length()


class SlotFingerprints(Fingerprints):
    """The slot in the upper bits, 14 of 16,384 slots, and the hash in those below.

    Slots of the same number in several groups share a range.
    """

    def __init__(self, key: bytes, slot_of: Callable[[str], int], slots: int = SLOTS) -> None:
        """`slot_of` names the slot of a host; each group has so many `slots`."""
        super().__init__(key)
        bits = self._bits = _hash_bits(slots)

        def above(start: str) -> int:
            return slot_of(host_of(f"{start}/")) % slots << bits

        self._above = lru_cache(CACHED_ORIGINS)(above)

    def __call__(self, urls: Iterable[str], asked: Iterable[str] = ()) -> list[int]:
        """Return the slot of a URL as it is requested: the caller has to know the fingerprint."""
        key, above = self._key, self._above
        low = 64 - self._bits
        return [
            above(url[: url.find("/", AUTHORITY)]) | siphash(key, compared) >> low
            for compared, url in zip(urls, asked, strict=True)
        ]


def range_of(slot: int, slots: int = SLOTS) -> tuple[int, int]:
    """Return the first and the last fingerprint of a URL in this slot, of so many in each group."""
    bits = _hash_bits(slots)
    low = slot % slots << bits
    return low, low | (1 << bits) - 1
