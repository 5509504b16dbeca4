"""A table of crawl.db with one small value per host; the last ones used are in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import DamagedFile

CACHED = 4096  # hosts in memory, with and without a row


class Value(Protocol):
    """The knowledge about one host."""

    def pack(self) -> bytes: ...


V = TypeVar("V", bound=Value)


class HostTable(Part, Generic[V]):
    """`table` is one of schema.OPTIONAL_TABLES with the columns host, data and crc.

    `new` makes the value of a new host.
    """

    def __init__(
        self, db: CrawlDB, table: str, new: Callable[[], V], unpack: Callable[[bytes], V]
    ) -> None:
        """Make the table unless it is there, and take part in the checkpoints of `db`."""
        self._db = db
        self._table = table
        self._new = new
        self._unpack = unpack
        db.need(table)
        self._known: OrderedDict[str, V | None] = OrderedDict()  # None: it has no row
        self._changed: set[str] = set()
        db.join(self)

    def get(self, host: str) -> V | None:
        """Return the host's value; None if nothing is known of it."""
        if host in self._known:
            self._known.move_to_end(host)
            return self._known[host]
        rows = self._db.query(f"SELECT host, data, crc FROM {self._table} WHERE host = ?", (host,))
        return self._keep(host, self._read(rows[0]) if rows else None)

    def change(self, host: str) -> V:
        """Return the host's value, to be changed at once; a new one if there is none."""
        found = self.get(host)
        if found is None:
            found = self._new()
            self._keep(host, found)
        self._changed.add(host)
        return found

    def _read(self, row: tuple[str, bytes, int]) -> V:
        if not rowcrc.agrees(rowcrc.of_host, row):
            raise DamagedFile(self._db.path, 0, f"table {self._table}, {row[0]}: wrong checksum")
        return self._unpack(row[1])

    def _keep(self, host: str, found: V | None) -> V | None:
        """Remember a host's value, or that it has none, and return it.

        If more than CACHED hosts are remembered, those used longest ago are forgotten, and written
        first if they were changed.
        """
        self._known[host] = found
        self._known.move_to_end(host)
        while len(self._known) > CACHED:
            oldest, value = self._known.popitem(last=False)
            if oldest in self._changed and value is not None:
                # It goes into the open transaction: a crash before the checkpoint takes it back
                self._changed.discard(oldest)
                self._write([(oldest, value)])
        return found

    def _write(self, hosts_and_values: list[tuple[str, V]]) -> None:
        packed = [(host, value.pack()) for host, value in hosts_and_values]
        rows = [(host, data, rowcrc.of_host(host, data)) for host, data in packed]
        self._db.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?, ?)", rows)

    # -- the checkpoint

    def save(self) -> None:
        # A host that was changed is in memory until it is written
        known = [(host, self._known[host]) for host in sorted(self._changed)]
        self._write([(host, value) for host, value in known if value is not None])
        self._changed.clear()
