"""Slots on their way between two drones: one packs them, and the other unpacks them.

A slot that leaves is frozen, packed in slices, and handed over by the drone's own checkpoint. What
comes meanwhile for a slot that is expected is parked: as rows of the crawl's database, with a
bounded part in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgpack
import numpy as np

from webcrawl.base import readable
from webcrawl.base.model import Packed
from webcrawl.base.zstd_frame import pack, unpack
from webcrawl.crawl.hive.partition import SLOTS, range_of
from webcrawl.frontier.host_handover import HostHandover, Piece
from webcrawl.frontier.seen.protocol import ExportsKeys, SeenStore
from webcrawl.store.crawldb import CrawlDB

Item = list[Any]
"""Of a SLOT batch: slot, kind of piece, name, value. The kinds: those of frontier/host_handover.py, `keys`, `end`."""
Counts = list[int]
"""Of a slot: its HOSTS, URLS, DOMAINS and KEYS. Both sides count them, and compare them at its end."""
HOSTS, URLS, DOMAINS, KEYS = range(4)
COUNTED_AS = {
    "host": HOSTS,
    "urls": URLS,
    "later": URLS,
    "held": URLS,
    "domain": DOMAINS,
    "keys": KEYS,
}
ITEM_KEYS = 512  # fingerprints in one item: 4 KiB
SLICE_ITEMS = 16  # such items in a slice: two pages of a file
SLICE_SLOTS = 16  # slots in a slice with one such item or none, or with nothing parked

ROWS = "hive.parked."  # the names of rows with parked items begin with it
MAX_ITEMS_IN_MEMORY = 1 << 14  # of all slots
ROW_ITEMS = 256  # of one row: they are dealt with at once
AFTER_DIGITS = "~"  # sorts behind all digits
MARK_SEEN = b""  # for the seen store, in the place of a link: mark as seen, never return
Deliver = Callable[[int, int, list[Any]], None]  # a Kind or HOST_NAME, a slot, items
HOST_NAME = 0  # in the place of a Kind: what is parked is the name of a host that came

ForOtherDrone = Callable[[Packed], Packed | None]
"""Returns a link as another drone takes it, or None if no drone would take it."""


def unchanged(record: Packed) -> Packed:
    """Return the link itself: every drone takes links of pages as they are."""
    return record


def links_for_others(records: Iterable[Packed], for_other_drone: ForOtherDrone) -> list[Packed]:
    """Return those of the links that other drones take, as they take them."""
    return [link for record in records if (link := for_other_drone(record)) is not None]


@dataclass(frozen=True, slots=True)
class SlotRules:
    """How a hive divides URLs into slots, and what of a slot another drone takes."""

    slot_of: Callable[[str], int]  # Partition.slot: the slot of a host
    slots: int = SLOTS  # of each group of drones
    # a registered domain is in one slot, and moves with it; False: hosts move, and domains do not
    moves_domains: bool = True
    for_other_drone: ForOtherDrone = unchanged


class SlotPacker:
    """Packs frozen slots, in passes over the hosts: each packs all that are frozen when it begins.

    Per slot: own -> frozen (`add`) -> packed (its last item is `end`). A checkpoint keeps which
    slots these are, for whom, what was counted, and which fingerprints have gone. All else that was
    packed is no longer here, so that a pass may begin anew at any time.
    """

    def __init__(
        self,
        moves: HostHandover,
        seen: ExportsKeys,
        rules: SlotRules,
        put: Callable[[int, Item], None],
        on_packed: Callable[[int], None],
    ) -> None:
        """`put` takes SLOT items for a drone.

        `on_packed` is called with each slot after its last item.
        """
        self._moves = moves
        self._seen = seen
        self._slot_of = rules.slot_of
        self._slots = rules.slots
        self._moves_domains = rules.moves_domains
        self._for_other_drone = rules.for_other_drone
        self._put = put
        self._on_packed = on_packed
        # All slots that are frozen and not yet packed, and the drone that gets each
        self.targets: dict[int, int] = {}
        # Those of them that the present pass packs, and what it has counted of each
        self._being_packed: dict[int, Counts] = {}
        # The slot whose fingerprints are being packed, and the first of them that is not
        self._cursor: dict[int, int] = {}
        self._pass: Iterator[bool] | None = None  # over the hosts; None between two passes
        self._mark = 0  # in the seen store: what was submitted before has to be decided first
        self._now = 0.0
        self.packed_slots = 0  # since the start

    def add(self, slot: int, target: int) -> None:
        """Take a frozen slot for the drone `target`; the frontier's gate keeps its hosts out."""
        self.targets[slot] = target
        self._mark = self._seen.mark()

    def step(self, now: float) -> bool:
        """Do one slice, in a few ms; return whether there is more to do at once."""
        self._now = now
        if self._pass is None:
            if not self._being_packed:
                self._being_packed = {slot: [0, 0, 0, 0] for slot in self.targets}
            if not self._being_packed:
                return False
            self._pass = self._pack_slots()
        progress = next(self._pass, None)
        if progress is None:
            self._pass = None
        must_wait = progress is False
        return not must_wait and bool(self.targets)

    def _pack_slots(self) -> Iterator[bool]:
        """Pack these slots in slices; yield False while they have to wait for something."""
        while self._moves.busy() or not self._is_decided():
            yield False
        for _ in self._moves.sweep():
            yield True
        for pieces in self._moves.hosts(self._is_being_packed, lambda: self._now):
            self._put_pieces(pieces)
            yield True
        if self._moves_domains:
            for pieces in self._moves.domains(self._is_being_packed):
                self._put_pieces(pieces)
                yield True
        yield from self._pack_keys()
        yield True

    def _pack_keys(self) -> Iterator[bool]:
        """Pack the fingerprints of each slot of this pass, and end the slot, in slices."""
        keys = self._seen.sorted_keys()
        # The slot at which the last pass was broken off comes first.
        slots = sorted(self._being_packed, key=lambda slot: slot not in self._cursor)
        for packed, slot in enumerate(slots, 1):
            first, last = range_of(slot, self._slots)
            first = self._cursor.get(slot, first)
            while len(found := keys.next(first, last, SLICE_ITEMS * ITEM_KEYS)):
                for start in range(0, len(found), ITEM_KEYS):
                    some = found[start : start + ITEM_KEYS]
                    self._put_item(slot, "keys", "", some.astype("<u8").tobytes(), len(some))
                first = int(found[-1]) + 1
                self._cursor = {slot: first}
                if len(found) > ITEM_KEYS:
                    yield True
            self._end_slot(slot)
            if packed % SLICE_SLOTS == 0:
                yield True

    def _is_decided(self) -> bool:
        """Return whether the seen store has decided all that was found before the freeze.

        What it finds to be new or seen goes along as a fingerprint.
        """
        if not self._seen.decided(self._mark):
            self._seen.merge()
        return self._seen.decided(self._mark)

    def _is_being_packed(self, host: str) -> bool:
        return self._slot_of(host) in self._being_packed

    def _put_pieces(self, pieces: list[Piece]) -> None:
        """Put the pieces of hosts or domains, without links that no other drone takes."""
        for kind, name, packed in pieces:
            value = packed
            if kind in ("urls", "held"):
                value = links_for_others(packed, self._for_other_drone)
            elif kind == "later":
                value = [
                    [waits, wait, link]
                    for waits, wait, record in packed
                    if (link := self._for_other_drone(record)) is not None
                ]
            count = 1 if kind in ("host", "domain") else len(value)
            self._put_item(self._slot_of(name), kind, name, value, count)

    def _put_item(self, slot: int, kind: str, name: str, value: Any, count: int) -> None:
        self._being_packed[slot][COUNTED_AS[kind]] += count
        self._put(self.targets[slot], [slot, kind, name, value])

    def _end_slot(self, slot: int) -> None:
        target = self.targets.pop(slot)
        self._cursor.pop(slot, None)
        self._put(target, [slot, "end", "", self._being_packed.pop(slot)])
        self.packed_slots += 1
        self._on_packed(slot)

    def save(self) -> dict[str, Any]:
        """Return what a checkpoint has of the slots that leave, as msgpack takes it."""
        # "batch": the word of earlier versions for the slots of a pass
        return {"targets": self.targets, "batch": self._being_packed, "cursor": self._cursor}

    def restore(self, saved: dict[str, Any]) -> None:
        self.targets = saved["targets"]
        self._being_packed = saved["batch"]
        self._cursor = saved["cursor"]
        self._mark = self._seen.mark()


class ParkedItems:
    """Items that wait until their slot is here: first in, first out, for each slot.

    A row `hive.parked.<slot>.<n>` of `meta` is the zstd frame of a msgpack array of items.
    """

    def __init__(self, db: CrawlDB) -> None:
        """Resume with the rows that the database has."""
        self._db = db
        # By slot, the items that follow those in its rows
        self._items: defaultdict[int, list[Any]] = defaultdict(list)
        self._items_in_memory = 0
        self._next_row = 1  # its number, of whatever slot
        for name, _ in db.query(
            "SELECT name, crc FROM meta WHERE name >= ? AND name < ?", (ROWS, ROWS + AFTER_DIGITS)
        ):
            self._next_row = max(self._next_row, int(name.rpartition(".")[2]) + 1)

    def put(self, slot: int, item: Any) -> None:
        """Park an item of plain values."""
        self._items[slot].append(item)
        self._items_in_memory += 1
        if self._items_in_memory >= MAX_ITEMS_IN_MEMORY:
            self.save()

    def pop_items(self, slot: int) -> list[Any]:
        """Remove and return the first items of a slot, those of one row; empty if there are none."""
        prefix = f"{ROWS}{slot:05}."
        ((name,),) = self._db.query(
            "SELECT min(name) FROM meta WHERE name >= ? AND name < ?",
            (prefix, prefix + AFTER_DIGITS),
        )
        if name is None:
            items = self._items.pop(slot, [])
            taken, rest = items[:ROW_ITEMS], items[ROW_ITEMS:]
            if rest:
                self._items[slot] = rest
            self._items_in_memory -= len(taken)
            return taken
        value = self._db.get(name)
        self._db.execute("DELETE FROM meta WHERE name = ?", (name,))
        stored: list[Any] = msgpack.unpackb(unpack(value or b""))
        return stored

    def save(self) -> None:
        """Write what is in memory."""
        for slot, items in self._items.items():
            for start in range(0, len(items), ROW_ITEMS):
                row = pack(msgpack.packb(items[start : start + ROW_ITEMS]))
                self._db.set(f"{ROWS}{slot:05}.{self._next_row:012}", row)
                self._next_row += 1
        self._items.clear()
        self._items_in_memory = 0


class SlotUnpacker:
    """Unpacks slots that come from other drones.

    Per slot: expected -> arriving (its `end` was read; parked items go in) -> own.
    """

    def __init__(
        self,
        moves: HostHandover,
        seen: SeenStore,
        parked: ParkedItems,
        complain: Callable[[str], None],
    ) -> None:
        """`complain` is called with one line if a slot did not come whole."""
        self._moves = moves
        self._seen = seen
        self._parked = parked
        self._complain = complain
        self.sources: dict[int, int] = {}  # slots that are expected, and the drone each comes from
        # Slots that are here, and may have items parked; in their order: there may be thousands
        self.arriving: dict[int, None] = {}
        self._counts: dict[int, Counts] = {}
        self.came = 0  # slots, since the start
        # Slots are here whose last pieces never came, or were refused
        self.has_strays = False

    def expect(self, slot: int, source: int) -> None:
        """Expect a slot from a drone."""
        self.sources[slot] = source

    def forget_drone(self, drone: int) -> list[int]:
        """Expect nothing more from a lost drone; return the slots that were to come from it."""
        slots = [slot for slot, source in self.sources.items() if source == drone]
        for slot in slots:
            came = self._counts.pop(slot, [0, 0, 0, 0])
            self._complain(
                f"slot {slot} is lost with drone {drone}; only this had arrived: {_in_words(came)}"
            )
            self._let_arrive(slot)
        return slots

    def admit_strays(self, now: float) -> None:
        """Let hosts in whose slots are here, though their last pieces never came."""
        for name in self._moves.strays():
            self._moves.arrive(name, now)

    def unpack_parked(self, slot: int) -> None:
        """Allow a slot to be unpacked: all of its pieces are parked here."""
        self.arriving[slot] = None

    def unpack_piece(self, item: Item, now: float) -> int | None:
        """Unpack an item of a SLOT batch; return its slot if that is complete now, or else None."""
        slot: int
        slot, kind, name, value = item
        moves = self._moves
        count = 1
        match kind:
            case "end":
                self._end_slot(slot, value)
                return slot
            case "keys":
                keys = np.frombuffer(value, "<u8").tolist()
                count = len(keys)
                self._seen.submit(keys, [MARK_SEEN] * count)
            case "host":
                moves.host(value, now)
                self.park(slot, HOST_NAME, name)
                # The end of its slot does not come any more: deliver the name as it is.
                if slot not in self.sources:
                    self.arriving[slot] = None
            case "domain":
                moves.domain(name, value)
            case "urls":
                count = len(value)
                moves.urls(name, value)
            case "later":
                count = len(value)
                moves.later(name, value, now)
            case _:
                count = len(value)
                moves.held(name, value)
        self._counts.setdefault(slot, [0, 0, 0, 0])[COUNTED_AS[kind]] += count
        return None

    def _end_slot(self, slot: int, sent: Counts) -> None:
        """Compare what came of a slot with what its sender has counted, and let the slot arrive."""
        came = self._counts.pop(slot, [0, 0, 0, 0])
        if came != sent:
            self.has_strays = True
            self._complain(
                f"slot {slot} did not arrive whole: {_in_words(came)} arrived of "
                f"{_in_words(sent)} sent"
            )
        self._let_arrive(slot)

    def _let_arrive(self, slot: int) -> None:
        self.sources.pop(slot, None)
        self.came += 1
        self.arriving[slot] = None

    def park(self, slot: int, kind: int, item: Any) -> None:
        """Keep an item until its slot is here. `kind` is a Kind, or HOST_NAME."""
        self._parked.put(slot, [int(kind), item])

    def step(self, may_deliver: Callable[[int], bool], deliver: Deliver) -> bool:
        """Deliver a slice of what was parked for slots that are here; return whether there is more.

        `may_deliver` says for which slots `deliver` may be called now.
        """
        for slot in [*islice(filter(may_deliver, self.arriving), SLICE_SLOTS)]:
            items = self._parked.pop_items(slot)
            if items:
                self._deliver(slot, items, deliver)
                break
            del self.arriving[slot]
        return any(map(may_deliver, self.arriving))

    def _deliver(self, slot: int, items: list[Any], deliver: Deliver) -> None:
        items_by_kind: defaultdict[int, list[Any]] = defaultdict(list)
        for kind, item in items:
            items_by_kind[kind].append(item)
        for kind, some in items_by_kind.items():
            deliver(kind, slot, some)

    def save(self) -> dict[str, Any]:
        """Return what a checkpoint has of the slots that come, as msgpack takes it."""
        self._parked.save()
        return {"sources": self.sources, "arriving": [*self.arriving], "counts": self._counts}

    def restore(self, saved: dict[str, Any]) -> None:
        self.sources = saved["sources"]
        self.arriving = dict.fromkeys(saved["arriving"])
        self._counts = saved["counts"]


def _in_words(counts: Counts) -> str:
    return ", ".join(map(readable.count, counts, ("host", "URL", "domain", "fingerprint")))
