"""The rows of the table `host`: those packed lately stay in memory, all others lie in SQLite."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from webcrawl.store.crawldb import CrawlDB

Row = tuple[str, int, bytes]  # name, state, data

BATCH = 256  # rows that are written or let go at once: about 1 ms
ROW_BYTES = 200  # of a row beside its data: the name, the tuple, its place in the table
LOAD = "SELECT name, state, data FROM host WHERE name = ?"
STORE = "INSERT OR REPLACE INTO host VALUES (?, ?, ?)"


class HostRows:
    """A host that comes again soon costs unpacking then, 2 us, where SQLite takes 12 to find it and 8 to write it."""

    def __init__(self, db: CrawlDB, room: int) -> None:
        self._db, self._room, self._size = db, room, 0  # bytes
        self._written: dict[str, Row] = {}
        self._changed: dict[str, Row] = {}  # not in this form in the open transaction

    def __repr__(self) -> str:
        return f"<HostRows written={len(self._written)} changed={len(self._changed)}>"

    @property
    def changed(self) -> int:
        """Rows that the next checkpoint has to write."""
        return len(self._changed)

    def take(self, name: str) -> tuple[Row | None, bool]:
        """The host's row, which leaves memory, and whether SQLite has it in this form; None if there is none."""
        row = self._changed.pop(name, None)
        written = row is None
        if row is None:
            row = self._written.pop(name, None)
        if row is None:
            rows = self._db.query(LOAD, (name,))
            return (rows[0] if rows else None), True
        self._size -= len(row[2]) + ROW_BYTES
        return row, written

    def put(self, row: Row, *, written: bool) -> None:
        """Keeps a row that `take` may ask for."""
        (self._written if written else self._changed)[row[0]] = row
        self._size += len(row[2]) + ROW_BYTES
        while self._size > self._room:
            self._let_go()

    def _let_go(self) -> None:
        if not self._written:
            self.write(BATCH)
        for name in list(islice(self._written, BATCH)):
            self._size -= len(self._written.pop(name)[2]) + ROW_BYTES

    def write(self, most: int) -> None:
        """Writes the rows that changed first."""
        rows = dict(islice(self._changed.items(), most))
        self.store(rows.values())
        for name in rows:
            del self._changed[name]
        self._written.update(rows)

    def store(self, rows: Iterable[Row]) -> None:
        """Writes rows whose hosts are in use; many at once, because a statement a row costs twice as much."""
        self._db.executemany(STORE, rows)
