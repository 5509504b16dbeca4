"""Slots that another drone hands over: their pieces are unpacked, and what comes for them meanwhile is parked.

Parked letters are rows of the crawl's database, with a bounded part in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import zstandard

from webcrawl.base import readable
from webcrawl.crawl.hive.outgoing_slots import COUNTED, Counts, Item
from webcrawl.frontier.host_handover import HostHandover
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB

PARKED = "hive.parked."
ROOM = 1 << 14  # items in memory, of all slots
ROW = 256  # items of one row: they are dealt with at once
END = "~"  # sorts behind all digits

KNOWN = b""  # for the seen store: mark as seen, never return
Deliver = Callable[[int, int, list[Any]], None]  # a Kind or NAME, a slot, items
NAME = 0  # in the place of a Kind: what is parked is the name of a host that came


class Parking:
    """A FIFO for each slot. A row `hive.parked.<slot>.<n>` of `meta` is the zstd frame of a msgpack array of items."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._items: defaultdict[int, list[Any]] = defaultdict(list)  # behind the rows of the same slot
        self._held = 0
        self._next = 1  # the number of the next row, of whatever slot
        for name, _ in db.query("SELECT name, crc FROM meta WHERE name >= ? AND name < ?", (PARKED, PARKED + END)):
            self._next = max(self._next, int(name.rpartition(".")[2]) + 1)
        self._pack = zstandard.ZstdCompressor(level=1).compress
        self._unpack = zstandard.ZstdDecompressor().decompress

    def put(self, slot: int, item: Any) -> None:
        """Parks an item of plain values."""
        self._items[slot].append(item)
        self._held += 1
        if self._held >= ROOM:
            self.save()

    def take(self, slot: int) -> list[Any]:
        """Removes and returns the first items of a slot, those of one row; empty if there are none."""
        first = f"{PARKED}{slot:05}."
        ((name,),) = self._db.query("SELECT min(name) FROM meta WHERE name >= ? AND name < ?", (first, first + END))
        if name is None:
            items = self._items.pop(slot, [])
            taken, rest = items[:ROW], items[ROW:]
            if rest:
                self._items[slot] = rest
            self._held -= len(taken)
            return taken
        value = self._db.get(name)
        self._db.execute("DELETE FROM meta WHERE name = ?", (name,))
        found: list[Any] = msgpack.unpackb(self._unpack(value or b""))
        return found

    def save(self) -> None:
        """Writes what is in memory."""
        for slot, items in self._items.items():
            for at in range(0, len(items), ROW):
                self._db.set(f"{PARKED}{slot:05}.{self._next:012}", self._pack(msgpack.packb(items[at : at + ROW])))
                self._next += 1
        self._items.clear()
        self._held = 0


class Coming:
    """Per slot: expected -> arriving (its `end` was read: it is here, and what was parked for it goes in) -> own."""

    def __init__(self, moves: HostHandover, seen: SeenStore, parking: Parking, lost: Callable[[str], None]) -> None:
        """`lost` is told in one line if a slot did not come whole."""
        self._moves, self._seen, self._parking, self._lost = moves, seen, parking, lost
        self.sources: dict[int, int] = {}  # slots that are expected, and from whom
        self.arriving: list[int] = []  # slots that are here, with something parked
        self._counts: dict[int, Counts] = {}
        self.came = 0  # slots
        self.torn = False  # slots are here whose last pieces never came, or were refused

    def expect(self, slot: int, source: int) -> None:
        """A slot will come from a drone."""
        self.sources[slot] = source

    def gone(self, drone: int) -> list[int]:
        """A drone is lost: of its slots nothing more comes; returns which these are."""
        slots = [slot for slot, source in self.sources.items() if source == drone]
        for slot in slots:
            came = self._counts.pop(slot, [0, 0, 0, 0])
            self._lost(f"slot {slot} is lost with drone {drone}; of it had come: {_said(came)}")
            self._arrived(slot)
        return slots

    def strays(self, now: float) -> None:
        """Lets hosts in whose slots are here, though their last pieces never came."""
        for name in self._moves.strays():
            self._moves.arrive(name, now)

    def unpack(self, slot: int) -> None:
        """All pieces of a slot are parked here."""
        if slot not in self.arriving:
            self.arriving.append(slot)

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
            if slot not in self.sources and slot not in self.arriving:
                self.arriving.append(slot)
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
            self._lost(f"slot {slot} did not come whole: {_said(came)} came, and {_said(sent)} were sent")
        self._arrived(slot)
        return slot

    def _arrived(self, slot: int) -> None:
        self.sources.pop(slot, None)
        self.came += 1
        if slot not in self.arriving:
            self.arriving.append(slot)

    def park(self, slot: int, kind: int, item: Any) -> None:
        """Keeps an item until its slot is here."""
        self._parking.put(slot, [int(kind), item])

    def step(self, may: Callable[[int], bool], deliver: Deliver) -> bool:
        """One slice of what was parked for slots that are here; returns whether there is more.

        `may` says for which slots `deliver` may be called now.
        """
        slot = next(filter(may, self.arriving), None)
        if slot is None:
            return False
        items = self._parking.take(slot)
        if not items:
            self.arriving.remove(slot)
        groups: defaultdict[int, list[Any]] = defaultdict(list)
        for kind, item in items:
            groups[kind].append(item)
        for kind, some in groups.items():
            deliver(kind, slot, some)
        return any(map(may, self.arriving))

    def save(self) -> dict[str, Any]:
        """The part of a checkpoint, as msgpack takes it."""
        self._parking.save()
        return {"sources": self.sources, "arriving": self.arriving, "counts": self._counts}

    def restore(self, saved: dict[str, Any]) -> None:
        """The inverse of `save`."""
        self.sources, self.arriving, self._counts = saved["sources"], saved["arriving"], saved["counts"]


def _said(counts: Counts) -> str:
    return ", ".join(map(readable.count, counts, ("host", "URL", "domain", "fingerprint")))
