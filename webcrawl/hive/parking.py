"""What came for slots that are not here yet: in rows of the crawl's database, a bounded part in memory."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgpack
import zstandard

from webcrawl.store.crawldb import CrawlDB

NAME = "hive.parked."
ROOM = 1 << 14  # items in memory, of all slots
ROW = 256  # items of one row: they are dealt with at once
END = "~"  # sorts behind all digits


class Parking:
    """A FIFO for each slot. A row `hive.parked.<slot>.<n>` of `meta` is the zstd frame of a msgpack array of items."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._items: defaultdict[int, list[Any]] = defaultdict(list)  # behind the rows of the same slot
        self._held = 0
        self._next = 1  # the number of the next row, of whatever slot
        for name, _ in db.query("SELECT name, crc FROM meta WHERE name >= ? AND name < ?", (NAME, NAME + END)):
            self._next = max(self._next, int(name.rpartition(".")[2]) + 1)
        self._pack = zstandard.ZstdCompressor(level=1).compress
        self._unpack = zstandard.ZstdDecompressor().decompress

    def __repr__(self) -> str:
        return f"<Parking {self._held} items in memory, next row {self._next}>"

    def put(self, slot: int, item: Any) -> None:
        """Parks an item of plain values."""
        self._items[slot].append(item)
        self._held += 1
        if self._held >= ROOM:
            self.save()

    def take(self, slot: int) -> list[Any]:
        """Removes and returns the first items of a slot, those of one row; empty if there are none."""
        first = f"{NAME}{slot:05}."
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
                self._db.set(f"{NAME}{slot:05}.{self._next:012}", self._pack(msgpack.packb(items[at : at + ROW])))
                self._next += 1
        self._items.clear()
        self._held = 0
