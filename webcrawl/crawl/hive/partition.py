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
MAX_DRONES = (1 << 16) - 1  # owners are of 16 bits, in maps and in batches
NO_OWNER = MAX_DRONES  # in the place of an owner
MAX_OWNERS_BYTES = 1 << 24  # of a map, unpacked: of 512 groups
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
        """Return the map of a new hive, in which the drones have equal shares of the slots.

        The slots of a group are shared by those of the drones that it prefers, or by all if none of
        these is there. `slots` is the number of slots of each group.
        """
        unowned = cls(generation - 1, (), array("H", [NO_OWNER]) * (slots * len(groups)))
        return unowned.resized(drones, groups)

    def resized(
        self, drones: Iterable[int], groups: Groups = ((),), lost: Collection[int] = ()
    ) -> SlotMap:
        """Return the next map, with these members; no more slots move than must.

        Drones that are `lost` are not among the leaving ones: they give nothing away. Raise
        ValueError if the members are no numbers of drones.
        """
        member_set = set(drones)
        members = tuple(sorted(member_set))
        if not members or not 0 <= members[0] <= members[-1] < MAX_DRONES:
            raise ValueError(
                f"drones = {members}: must be one or more numbers from 0 to {MAX_DRONES - 1}"
            )
        owners = array("H")
        slots = self.slots_of(groups)
        for number, preferred in enumerate(groups):
            before = self.owners[number * slots : (number + 1) * slots]
            sharing = [drone for drone in dict.fromkeys(preferred) if drone in member_set]
            owners.extend(_share_slots(before, sharing or members))
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
        """Return the map as it is saved and sent: 4 KB for 1,000 drones, as neighbours share an owner."""
        owners = zstd_frame.pack(self.owners.tobytes())
        return bytes(msgpack.packb((self.generation, self.drones, owners, self.leaving)))

    @classmethod
    def unpack(cls, data: bytes) -> SlotMap:
        """Return the map that `pack` has packed, here or in an earlier version."""
        generation, drones, owners, *leaving = msgpack.unpackb(data)
        if owners.startswith(ZSTD):  # an earlier version did not compress it
            owners = zstd_frame.unpack(owners, MAX_OWNERS_BYTES)
        return cls(generation, tuple(drones), array("H", owners), *map(tuple, leaving))


def _share_slots(before: Sequence[int], drones: Sequence[int]) -> list[int]:
    """Return the owner of each slot of a group, if these drones have equal shares of the slots.

    Shares differ by one slot at most. A slot stays with its owner `before` unless that one is not
    among the drones, or has more than its share.
    """
    slots_by_drone: dict[int, list[int]] = {drone: [] for drone in drones}
    free_slots: list[int] = []
    for slot, drone in enumerate(before):
        slots_by_drone.get(drone, free_slots).append(slot)
    share, remainder = divmod(len(before), len(drones))
    shares = dict.fromkeys(drones, share)
    # The slots that are left over go to the drones with the most: there the fewest have to move.
    by_most_slots = sorted(drones, key=lambda drone: -len(slots_by_drone[drone]))
    for drone in by_most_slots[:remainder]:
        shares[drone] += 1
    for drone, slots in slots_by_drone.items():
        free_slots += slots[shares[drone] :]
        del slots[shares[drone] :]
    free_slots.sort()
    given = 0
    for drone, slots in slots_by_drone.items():
        missing = shares[drone] - len(slots)
        slots.extend(free_slots[given : given + missing])
        given += missing
    owners = [NO_OWNER] * len(before)
    for drone, slots in slots_by_drone.items():
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
HASH_KEY = b"webcrawl's parts"  # the same in all drones, for all must find the same slot
CACHED_HOSTS = 1 << 16

# A slash from this offset on ends the host of a URL. If the host of a short URL ends before it, a
# later slash is found, and `host_of` finds the host all the same.
MIN_HOST_END = 9
CACHED_ORIGINS = 1 << 16  # beginnings of URLs, one per scheme and host


class Partition:
    """Divides hosts among slots: `slot` returns a host's.

    There is a group of slots for each region, and one for all other hosts. `groups` has the drones
    that each group prefers (see SlotMap.fair), and `essence` is the text by which drones compare
    their partitions.
    """

    def __init__(
        self,
        way: str,
        domain_of: Callable[[str], str],
        regions: Mapping[str, Sequence[int]] | None = None,
        slots: int = SLOTS,
    ) -> None:
        """`way`, one of WAYS, says which hosts have the same slot; `slots` is their number per group.

        `regions` has suffixes such as `de` or `co.uk`, and the drones that each prefers.
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
        self._group_numbers = {suffix: number for number, suffix in enumerate(regions, 1)}
        self.groups: tuple[tuple[int, ...], ...] = (
            (),
            *(tuple(drones) for drones in regions.values()),
        )
        region_words = [f"{suffix}={list(drones)}" for suffix, drones in regions.items()]
        self.essence = " ".join((way, *region_words))
        self.slot: Callable[[str], int] = lru_cache(CACHED_HOSTS)(self._slot_of)

    def with_slots_of(self, slots: SlotMap) -> Partition:
        """Return this partition with as many slots as the hive of this map was founded with.

        Raise HiveError if the map is of a hive that is divided in another way.
        """
        each = slots.slots_of(self.groups)
        is_divisible = each * len(self.groups) == len(slots.owners)
        if not is_divisible or each not in (EARLIER_SLOTS, SLOTS):
            raise HiveError(
                f"HIVE_PARTITION = {self.essence}: the hive was founded with another one: its map "
                f"has {len(slots.owners)} slots, which are not those of {len(self.groups)} groups"
            )
        if each == self.slots:
            return self
        return Partition(self.way, self._domain_of, self._regions, each)

    def _slot_of(self, host: str) -> int:
        first_of_group = self._group_of(host) * self.slots
        return first_of_group + siphash(HASH_KEY, self._key(host)) % self.slots

    def _group_of(self, host: str) -> int:
        """Return the number of the group with a host; 0 if it is in no region.

        The longest suffix of its registered domain decides, so that all hosts of a domain are in
        the same group.
        """
        suffix = self._domain_of(host) if self._group_numbers else ""
        while suffix:
            if suffix in self._group_numbers:
                return self._group_numbers[suffix]
            suffix = suffix.partition(".")[2]
        return 0


def _last_label(name: str) -> str:
    """Return the last label of a domain, or the whole name if it is an address."""
    label = name.rpartition(".")[2]
    is_address = label.isdecimal() or name[0] == "["
    return name if is_address else label


def read_regions(path: Path) -> dict[str, tuple[int, ...]]:
    """Read a file with a line for each region: a suffix, and its drones: `de 0,1`.

    `#` begins a comment. Raise HiveError if the file cannot be read, or has another line.
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
        are_numbers = all(drone.isdecimal() and int(drone) < MAX_DRONES for drone in drones)
        if not drones or not are_numbers:
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
    """Fingerprints of URLs in a hive: a slot in the upper bits, and a hash in those below.

    With 16,384 slots the slot takes 14 bits of 64. Slots of the same number in several groups share
    a range.
    """

    def __init__(self, key: bytes, slot_of: Callable[[str], int], slots: int = SLOTS) -> None:
        """`slot_of` returns the slot of a host; each group has so many `slots`."""
        super().__init__(key)
        hash_bits = _hash_bits(slots)
        self._slot_bits = 64 - hash_bits

        def upper_bits(origin: str) -> int:
            return slot_of(host_of(f"{origin}/")) % slots << hash_bits

        self._upper_bits = lru_cache(CACHED_ORIGINS)(upper_bits)

    def __call__(self, urls: Iterable[str], requested: Iterable[str] = ()) -> list[int]:
        """Return the fingerprints of URLs. `requested` has each URL as it is requested.

        The slot is that of the requested URL: its drone must know the fingerprint.
        """
        # Called for each link: local names, and a slice of the URL in place of a parsed one.
        key, upper_bits, slot_bits = self._key, self._upper_bits, self._slot_bits
        return [
            upper_bits(url[: url.find("/", MIN_HOST_END)]) | siphash(key, compared) >> slot_bits
            for compared, url in zip(urls, requested, strict=True)
        ]


def range_of(slot: int, slots: int = SLOTS) -> tuple[int, int]:
    """Return the first and the last fingerprint of a URL in this slot, of so many in each group."""
    hash_bits = _hash_bits(slots)
    first = slot % slots << hash_bits
    last = first | (1 << hash_bits) - 1
    return first, last
