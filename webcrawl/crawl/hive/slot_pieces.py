"""Slots on their way between two drones: one packs them, and the other unpacks them.

A slot that leaves is frozen, packed in slices, and handed over by the drone's own checkpoint. What
comes meanwhile for a slot that is expected is parked: as rows of the crawl's database, with a
bounded part in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgpack
import numpy as np

from webcrawl.base import readable
from webcrawl.base.model import Packed
from webcrawl.base.zstd_frame import pack, unpack
from webcrawl.crawl.hive.partition import range_of
from webcrawl.frontier.host_handover import HostHandover, Piece
from webcrawl.frontier.seen.protocol import ExportsKeys, SeenStore
from webcrawl.store.crawldb import CrawlDB

Item = list[Any]
"""Of a SLOT letter: slot, kind of piece, name, value. The kinds: those of frontier/host_handover.py, `keys`, `end`."""
Counts = list[int]
HOSTS, URLS, DOMAINS, KEYS = range(4)  # what is counted of a slot: both sides compare it at its end
COUNTED = {
    "host": HOSTS,
    "urls": URLS,
    "later": URLS,
    "held": URLS,
    "domain": DOMAINS,
    "keys": KEYS,
}
PIECE_KEYS = 512  # fingerprints in one item: 4 KiB
AT_ONCE = 16  # such items in a slice: two pages of a file
SMALL_AT_ONCE = 16  # slots in a slice with one such item or none, or with nothing parked

PARKED = "hive.parked."
ROOM = 1 << 14  # items in memory, of all slots
ROW = 256  # items of one row: they are dealt with at once
END = "~"  # sorts behind all digits
KNOWN = b""  # for the seen store: mark as seen, never return
Deliver = Callable[[int, int, list[Any]], None]  # a Kind or NAME, a slot, items
NAME = 0  # in the place of a Kind: what is parked is the name of a host that came

Leaves = Callable[[Packed], Packed | None]


def as_it_is(record: Packed) -> Packed:
    """Return the link itself: those of pages are taken by every drone as they are."""
    return record


def all_taken(records: Iterable[Packed], leaves: Leaves) -> list[Packed]:
    """Return the links that other drones take, as they take them."""
    return [taken for record in records if (taken := leaves(record)) is not None]


class SlotPacker:
    """Packs frozen slots; one batch after the other, each in a single pass over the hosts.

    Per slot: own -> frozen (`add`) -> packed (its last item is `end`). A checkpoint keeps which
    slots these are, for whom, what was counted, and which fingerprints have gone. All else that was
    packed is no longer here, so that a pass may begin anew at any time.
    """

    def __init__(
        self,
        moves: HostHandover,
        seen: ExportsKeys,
        slot_of: Callable[[str], int],
        put: Callable[[int, Item], None],
        packed: Callable[[int], None],
        leaves: Leaves | None = None,
        *,
        domains: bool,
        slots: int,
    ) -> None:
        """`put` takes SLOT items for a drone, `packed` hears of each slot whose last one was put.

        `leaves`: a link as another drone takes it, if it does.

        `domains`: a registered domain is in one slot, and moves with it. `slots`: of each group.
        """
        self._slots = slots
        self._moves = moves
        self._seen = seen
        self._slot_of = slot_of
        self._put = put
        self._packed = packed
        self._domains = domains
        self._leaves = leaves or as_it_is
        # all slots that are frozen and not yet packed, and who gets each
        self.targets: dict[int, int] = {}
        self._batch: dict[int, Counts] = {}  # those that are being packed
        # of these, the one whose fingerprints are going, and the next of them
        self._cursor: dict[int, int] = {}
        self._run: Iterator[bool] | None = None
        self._mark = 0  # in the seen store: what was submitted before has to be decided first
        self._now = 0.0
        self.packed = 0  # slots

    def add(self, slot: int, target: int) -> None:
        """Takes a slot, and who gets it.

        The gate of the frontier keeps its hosts out from now on.
        """
        self.targets[slot] = target
        self._mark = self._seen.mark()

    def step(self, now: float) -> bool:
        """Do one slice, in a few ms; return whether there is more to do at once."""
        self._now = now
        if self._run is None:
            self._batch = self._batch or {slot: [0, 0, 0, 0] for slot in self.targets}
            if not self._batch:
                return False
            self._run = self._pack()
        more = next(self._run, None)
        if more is None:
            self._run = None
        return more is not False and bool(self.targets)

    def _pack(self) -> Iterator[bool]:
        """Packs the batch; yields False while it has to wait for something."""
        while self._moves.busy() or not self._decided():
            yield False
        for _ in self._moves.sweep():
            yield True
        for pieces in self._moves.hosts(self._goes, lambda: self._now):
            self._send(pieces)
            yield True
        for pieces in self._moves.domains(self._goes) if self._domains else ():
            self._send(pieces)
            yield True
        keys = self._seen.sorted_keys()
        batch = sorted(self._batch, key=lambda one: one not in self._cursor)
        for packed, slot in enumerate(batch, 1):
            low, high = range_of(slot, self._slots)
            low = self._cursor.get(slot, low)
            while len(found := keys.next(low, high, AT_ONCE * PIECE_KEYS)):
                for at in range(0, len(found), PIECE_KEYS):
                    some = found[at : at + PIECE_KEYS]
                    self._item(slot, "keys", "", some.astype("<u8").tobytes(), len(some))
                low = int(found[-1]) + 1
                self._cursor = {slot: low}
                if len(found) > PIECE_KEYS:
                    yield True
            self._end(slot)
            if packed % SMALL_AT_ONCE == 0:
                yield True
        yield True

    def _decided(self) -> bool:
        """Return whether all that was found before the freeze is known as new or not.

        Its keys go along.
        """
        if not self._seen.decided(self._mark):
            self._seen.merge()
        return self._seen.decided(self._mark)

    def _goes(self, name: str) -> bool:
        return self._slot_of(name) in self._batch

    def _send(self, pieces: list[Piece]) -> None:
        for kind, name, found in pieces:
            value = found
            if kind in ("urls", "held"):
                value = all_taken(found, self._leaves)
            elif kind == "later":
                taken = [(waits, wait, self._leaves(record)) for waits, wait, record in found]
                value = [[*one] for one in taken if one[2] is not None]
            many = 1 if kind in ("host", "domain") else len(value)
            self._item(self._slot_of(name), kind, name, value, many)

    def _item(self, slot: int, kind: str, name: str, value: Any, count: int) -> None:
        self._batch[slot][COUNTED[kind]] += count
        self._put(self.targets[slot], [slot, kind, name, value])

    def _end(self, slot: int) -> None:
        target = self.targets.pop(slot)
        self._cursor.pop(slot, None)
        self._put(target, [slot, "end", "", self._batch.pop(slot)])
        self.packed += 1
        self._packed(slot)

    def save(self) -> dict[str, Any]:
        """Return the part of a checkpoint, as msgpack takes it."""
        return {"targets": self.targets, "batch": self._batch, "cursor": self._cursor}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what `save` has returned."""
        self.targets = saved["targets"]
        self._batch = saved["batch"]
        self._cursor = saved["cursor"]
        self._mark = self._seen.mark()


class ParkedItems:
    """A FIFO for each slot.

    A row `hive.parked.<slot>.<n>` of `meta` is the zstd frame of a msgpack array of items.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        # behind the rows of the same slot
        self._items: defaultdict[int, list[Any]] = defaultdict(list)
        self._held = 0
        self._next = 1  # the number of the next row, of whatever slot
        for name, _ in db.query(
            "SELECT name, crc FROM meta WHERE name >= ? AND name < ?", (PARKED, PARKED + END)
        ):
            self._next = max(self._next, int(name.rpartition(".")[2]) + 1)

    def put(self, slot: int, item: Any) -> None:
        """Parks an item of plain values."""
        self._items[slot].append(item)
        self._held += 1
        if self._held >= ROOM:
            self.save()

    def take(self, slot: int) -> list[Any]:
        """Removes and returns the first items of a slot, those of one row; empty if there are none."""
        first = f"{PARKED}{slot:05}."
        ((name,),) = self._db.query(
            "SELECT min(name) FROM meta WHERE name >= ? AND name < ?", (first, first + END)
        )
        if name is None:
            items = self._items.pop(slot, [])
            taken, rest = items[:ROW], items[ROW:]
            if rest:
                self._items[slot] = rest
            self._held -= len(taken)
            return taken
        value = self._db.get(name)
        self._db.execute("DELETE FROM meta WHERE name = ?", (name,))
        found: list[Any] = msgpack.unpackb(unpack(value or b""))
        return found

    def save(self) -> None:
        """Writes what is in memory."""
        for slot, items in self._items.items():
            for at in range(0, len(items), ROW):
                self._db.set(
                    f"{PARKED}{slot:05}.{self._next:012}", pack(msgpack.packb(items[at : at + ROW]))
                )
                self._next += 1
        self._items.clear()
        self._held = 0


class SlotUnpacker:
    """Per slot: expected -> arriving (its `end` was read; parked items go in) -> own."""

    def __init__(
        self,
        moves: HostHandover,
        seen: SeenStore,
        parking: ParkedItems,
        lost: Callable[[str], None],
    ) -> None:
        """`lost` is told in one line if a slot did not come whole."""
        self._moves = moves
        self._seen = seen
        self._parking = parking
        self._lost = lost
        self.sources: dict[int, int] = {}  # slots that are expected, and from whom
        # slots that are here, with something parked; in their order: there may be thousands
        self.arriving: dict[int, None] = {}
        self._counts: dict[int, Counts] = {}
        self.came = 0  # slots
        self.torn = False  # slots are here whose last pieces never came, or were refused

    def expect(self, slot: int, source: int) -> None:
        """Expect a slot from a drone."""
        self.sources[slot] = source

    def gone(self, drone: int) -> list[int]:
        """Expect nothing more from a lost drone; return the slots that were to come from it."""
        slots = [slot for slot, source in self.sources.items() if source == drone]
        for slot in slots:
            came = self._counts.pop(slot, [0, 0, 0, 0])
            self._lost(
                f"slot {slot} is lost with drone {drone}; only this had arrived: {_said(came)}"
            )
            self._arrived(slot)
        return slots

    def strays(self, now: float) -> None:
        """Lets hosts in whose slots are here, though their last pieces never came."""
        for name in self._moves.strays():
            self._moves.arrive(name, now)

    def unpack(self, slot: int) -> None:
        """Let a slot be unpacked, of which all pieces are parked here."""
        self.arriving[slot] = None

    def piece(self, item: Item, now: float) -> int | None:
        """Unpacks an item of a SLOT letter; returns its slot if it is whole now."""
        slot, kind, name, value = item
        moves, count = self._moves, 1
        if kind == "end":
            return self._ended(slot, value)
        if kind == "keys":
            keys = np.frombuffer(value, "<u8").tolist()
            count = len(keys)
            self._seen.submit(keys, [KNOWN] * count)
        elif kind == "host":
            moves.host(value, now)
            self.park(slot, NAME, name)
            if slot not in self.sources:
                self.arriving[slot] = None
        elif kind == "domain":
            moves.domain(name, value)
        else:
            count = len(value)
            if kind == "urls":
                moves.urls(name, value)
            elif kind == "later":
                moves.later(name, value, now)
            else:
                moves.held(name, value)
        self._counts.setdefault(slot, [0, 0, 0, 0])[COUNTED[kind]] += count
        return None

    def _ended(self, slot: int, sent: Counts) -> int:
        came = self._counts.pop(slot, [0, 0, 0, 0])
        if came != sent:
            self.torn = True
            self._lost(
                f"slot {slot} did not arrive whole: {_said(came)} arrived of {_said(sent)} sent"
            )
        self._arrived(slot)
        return slot

    def _arrived(self, slot: int) -> None:
        self.sources.pop(slot, None)
        self.came += 1
        self.arriving[slot] = None

    def park(self, slot: int, kind: int, item: Any) -> None:
        """Keeps an item until its slot is here."""
        self._parking.put(slot, [int(kind), item])

    def step(self, may: Callable[[int], bool], deliver: Deliver) -> bool:
        """Deliver a slice of what was parked for slots that are here; return whether there is more.

        `may` says for which slots `deliver` may be called now.
        """
        for slot in [*islice(filter(may, self.arriving), SMALL_AT_ONCE)]:
            if items := self._parking.take(slot):
                self._deliver(slot, items, deliver)
                break
            del self.arriving[slot]
        return any(map(may, self.arriving))

    def _deliver(self, slot: int, items: list[Any], deliver: Deliver) -> None:
        groups: defaultdict[int, list[Any]] = defaultdict(list)
        for kind, item in items:
            groups[kind].append(item)
        for kind, some in groups.items():
            deliver(kind, slot, some)

    def save(self) -> dict[str, Any]:
        """Return the part of a checkpoint, as msgpack takes it."""
        self._parking.save()
        return {"sources": self.sources, "arriving": [*self.arriving], "counts": self._counts}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what `save` has returned."""
        self.sources = saved["sources"]
        self.arriving = dict.fromkeys(saved["arriving"])
        self._counts = saved["counts"]


def _said(counts: Counts) -> str:
    return ", ".join(map(readable.count, counts, ("host", "URL", "domain", "fingerprint")))
