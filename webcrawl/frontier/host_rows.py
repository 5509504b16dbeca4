"""The table `host`: rows packed recently stay in memory, all others are in SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

Row = tuple[str, int, bytes]  # name, state, data

BATCH = 256  # rows written or evicted at once: about 1 ms
ROW_BYTES = 200  # a row's memory beside its data: the name, the tuple, its place in the dict
LOAD = "SELECT name, state, data, crc FROM host WHERE name = ?"
NAMES = "SELECT name FROM host WHERE name > ? ORDER BY name LIMIT ?"
LOAD_ACTIVE = "SELECT name, state, data, crc FROM host WHERE state > 0"
STORE = "INSERT OR REPLACE INTO host VALUES (?, ?, ?, ?)"


class HostRows:
    """A cache: a host that returns soon costs 2 us to unpack, where SQLite takes 12 to find it and 8 to write it."""

    def __init__(self, db: CrawlDB, room: int) -> None:
        self._db, self._room, self._size = db, room, 0  # bytes
        self._written: dict[str, Row] = {}
        self.changed: dict[str, Row] = {}  # not yet written in this form

    def __repr__(self) -> str:
        return f"<HostRows written={len(self._written)} changed={len(self.changed)}>"

    def take(self, name: str) -> tuple[Row | None, bool]:
        """Removes a row from the cache; returns it (or None) and whether SQLite has it in this form."""
        row = self.changed.pop(name, None)
        written = row is None
        if row is None:
            row = self._written.pop(name, None)
        if row is None:
            rows = self._db.query(LOAD, (name,))
            return (self._sound(rows[0]) if rows else None), True
        self._size -= len(row[2]) + ROW_BYTES
        return row, written

    def place(self, name: str) -> str:
        """The place of this row; empty if there is none."""
        if name in self.changed or name in self._written:
            return "packed in memory"
        return "on disk" if self._db.query("SELECT 1 FROM host WHERE name = ?", (name,)) else ""

    def active(self) -> Iterator[Row]:
        """The rows of hosts that were in the back-end at the last checkpoint."""
        return map(self._sound, self._db.query(LOAD_ACTIVE))

    def names(self, after: str, most: int) -> list[str]:
        """The next names behind this one, of rows that were written."""
        return [name for (name,) in self._db.query(NAMES, (after, most))]

    def of_state(self, state: int) -> list[str]:
        """The names of all rows that were written with this state."""
        return [name for (name,) in self._db.query("SELECT name FROM host WHERE state = ?", (int(state),))]

    def delete(self, name: str) -> None:
        """Removes a row that was taken from the cache."""
        self._db.execute("DELETE FROM host WHERE name = ?", (name,))

    def _sound(self, row: tuple[str, int, bytes, int]) -> Row:
        if not rowcrc.agrees(rowcrc.host, row):
            raise DamagedFile(self._db.path, 0, f"table host, {row[0]}: checksum")
        return row[:3]

    def put(self, row: Row, *, written: bool) -> None:
        """Caches a row for `take`."""
        (self._written if written else self.changed)[row[0]] = row
        self._size += len(row[2]) + ROW_BYTES
        while self._size > self._room:
            self._let_go()

    def _let_go(self) -> None:
        if not self._written:
            self.write(list(islice(self.changed, BATCH)))
        for name in list(islice(self._written, BATCH)):
            self._size -= len(self._written.pop(name)[2]) + ROW_BYTES

    def write(self, names: Iterable[str]) -> None:
        """Writes those of these hosts' cached rows that have changed."""
        rows = {name: row for name in names if (row := self.changed.pop(name, None)) is not None}
        self.store(rows.values())
        self._written.update(rows)

    def store(self, rows: Iterable[Row]) -> None:
        """Writes rows in one statement: one statement per row costs twice as much."""
        crc = rowcrc.host  # computed only here: a row in memory needs none
        self._db.executemany(STORE, ((name, state, data, crc(name, state, data)) for name, state, data in rows))
