"""What crawl.db and its folder keep of hosts: their rows, the rules of their robots.txt files, and
what they asked for.

Rows of hosts that were packed recently stay in memory, all others are in SQLite. Waits that hosts
have asked for by Retry-After since the last checkpoint are in a file of their own, so that they
outlive even a kill.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile

Row = tuple[str, int, bytes]  # name, state, data

BATCH = 256  # rows written or evicted at once: about 1 ms
ROW_BYTES = 200  # a row's memory beside its data: the name, the tuple, its place in the dict
LOAD = "SELECT name, state, data, crc FROM host WHERE name = ?"
NAMES = "SELECT name FROM host WHERE name > ? ORDER BY name LIMIT ?"
LOAD_ACTIVE = "SELECT name, state, data, crc FROM host WHERE state > 0"
STORE = "INSERT OR REPLACE INTO host VALUES (?, ?, ?, ?)"


class HostRows:
    """A cache: a host that returns soon costs 2 us to unpack, where SQLite takes 12 to find it and
    8 to write it.
    """

    def __init__(self, db: CrawlDB, room: int) -> None:
        self._db = db
        self._room = room  # bytes
        self._size = 0  # bytes of all rows in the cache
        self._written: dict[str, Row] = {}  # as SQLite has them
        self.changed: dict[str, Row] = {}  # not yet written in this form

    def __repr__(self) -> str:
        return f"<HostRows written={len(self._written)} changed={len(self.changed)}>"

    def pop_row(self, name: str) -> tuple[Row | None, bool]:
        """Remove a row from the cache, and return it (or None) and whether SQLite has it in this
        form.
        """
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
        """Return the place of this row; empty if there is none."""
        if name in self.changed or name in self._written:
            return "packed in memory"
        return "on disk" if self._db.query("SELECT 1 FROM host WHERE name = ?", (name,)) else ""

    def active(self) -> Iterator[Row]:
        """Return the rows of hosts that were in the back-end at the last checkpoint."""
        return map(self._sound, self._db.query(LOAD_ACTIVE))

    def names(self, after: str, most: int) -> list[str]:
        """Return the next names behind this one, of rows that were written."""
        return [name for (name,) in self._db.query(NAMES, (after, most))]

    def of_state(self, state: int) -> list[str]:
        """Return the names of all rows that were written with this state."""
        rows = self._db.query("SELECT name FROM host WHERE state = ?", (int(state),))
        return [name for (name,) in rows]

    def delete(self, name: str) -> None:
        """Remove a row that was taken from the cache."""
        self._db.execute("DELETE FROM host WHERE name = ?", (name,))

    def _sound(self, row: tuple[str, int, bytes, int]) -> Row:
        if not rowcrc.agrees(rowcrc.host, row):
            raise DamagedFile(self._db.path, 0, f"table host, {row[0]}: wrong checksum")
        return row[:3]

    def put(self, row: Row, *, written: bool) -> None:
        """Cache a row for `pop_row`."""
        (self._written if written else self.changed)[row[0]] = row
        self._size += len(row[2]) + ROW_BYTES
        while self._size > self._room:
            self._let_go()

    def _let_go(self) -> None:
        """Remove the oldest written rows from the cache; if there are none, write some first."""
        if not self._written:
            self.write(list(islice(self.changed, BATCH)))
        for name in list(islice(self._written, BATCH)):
            self._size -= len(self._written.pop(name)[2]) + ROW_BYTES

    def write(self, names: Iterable[str]) -> None:
        """Write those of these hosts' cached rows that have changed."""
        rows = {name: row for name in names if (row := self.changed.pop(name, None)) is not None}
        self.store(rows.values())
        self._written.update(rows)

    def store(self, rows: Iterable[Row]) -> None:
        """Write rows in one statement: one statement per row costs twice as much."""
        crc = rowcrc.host  # computed only here: a row in memory needs none
        self._db.executemany(
            STORE, ((name, state, data, crc(name, state, data)) for name, state, data in rows)
        )


ROBOTS_SWEPT = "robots.swept"
SWEPT = 256  # rows examined per sweep: 0.1 ms, or 0.5 if all are removed
LOAD_ROBOTS = "SELECT origin, until, rules, crc FROM robots WHERE origin = ?"
STORE_ROBOTS = "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)"
NEXT_ROBOTS = "SELECT origin, until FROM robots WHERE origin > ? ORDER BY origin LIMIT ?"
ROBOTS_OF_HOST = "SELECT origin FROM robots WHERE origin = ? OR (origin > ? AND origin < ?) LIMIT ?"
SCHEMES = ("http", "https", "ftp")  # RFC 9309 2.3
REMOVE_ROBOTS = "DELETE FROM robots WHERE origin = ?"


class RobotsRows:
    """Rules by origin (scheme, host and port).

    Sweeps go round the table and examine two rows for each row written. So expired rows never
    outnumber valid ones, however many hosts a crawl meets.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._due = 0  # rows that the next sweep is to examine: two for each that was written
        self._place = (db.get(ROBOTS_SWEPT) or b"").decode()  # the last row examined
        db.join(self)

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        """Return the time at which the rules expire, and the rules; None if there are none."""
        rows = self._db.query(LOAD_ROBOTS, (origin,))
        if rows and not rowcrc.agrees(rowcrc.robots, rows[0]):
            raise DamagedFile(self._db.path, 0, f"table robots, {origin}: wrong checksum")
        return rows[0][1:3] if rows else None

    def origins(self, host: str, most: int) -> list[str]:
        """Return at most so many origins of a host whose rules are here, as scheme, host and port."""
        found: list[str] = []
        for scheme in SCHEMES:
            origin = f"{scheme}://{host}"
            # All ports of the host sort between the colon and the semicolon, which follows it.
            rows = self._db.query(ROBOTS_OF_HOST, (origin, f"{origin}:", f"{origin};", most))
            found += [name for (name,) in rows]
        return found[:most]

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        self._db.execute(STORE_ROBOTS, (origin, until, rules, rowcrc.robots(origin, until, rules)))
        self._due += 2

    def sweep(self, before: float) -> None:
        """Remove rows that expired before `before`; does nothing until enough rows were written."""
        if self._due < SWEPT:
            return
        self._due = 0
        rows = self._db.query(NEXT_ROBOTS, (self._place, SWEPT))
        self._place = rows[-1][0] if len(rows) == SWEPT else ""  # empty: the round begins anew
        self._db.executemany(REMOVE_ROBOTS, [(origin,) for origin, until in rows if until < before])

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._db.set(ROBOTS_SWEPT, self._place.encode())


TOLD = "told."
LONG_WAIT = 60.0  # seconds: a shorter wait of a host that has not failed is not worth a line


def is_worth_a_line(wait: float, *, failed: bool) -> bool:
    """Return whether a kill must not forget that a host asked for this wait.

    `failed`: it gave no answer.
    """
    return wait >= LONG_WAIT or (failed and wait > 0)


class RetryAfterJournal:
    """A file `told.N` in the state folder, to which each such answer adds a line before anything
    else is done.

    Host records have it from the next checkpoint on, which removes the file. A kill loses nothing
    that was written, and the loss of power only what the kernel had not yet written out.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        files = sorted(db.folder.glob(f"{TOLD}*"))
        # by host, what a former run was told after its last checkpoint
        self.until = _read(files)
        endings = [path.suffix[1:] for path in files]
        numbers = [int(ending) for ending in endings if ending.isdecimal()]
        self._number = max(numbers, default=0) + 1
        self._files = files  # that the next checkpoint makes needless
        db.join(self)

    def note(self, host: str, until: float) -> None:
        """Note that this host is not to be requested before then."""
        # A line, and no early checkpoint: a hostile host could ask for one with each answer.
        path = self._db.folder / f"{TOLD}{self._number}"
        if not self._files or self._files[-1] != path:
            self._files.append(path)
        descriptor = self._db.disk.append(path)
        try:
            self._db.disk.write(descriptor, f"{until:.3f} {host}\n".encode())
        finally:
            os.close(descriptor)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        for path in self._files:
            self._db.discard(path)
        self._files.clear()
        self._number += 1


def _read(files: list[Path]) -> dict[str, float]:
    """Return the latest time for each host; of a truncated line nothing counts."""
    until: dict[str, float] = {}
    for path in files:
        lines: list[bytes] = []
        # A crawl that runs may just have removed the file of a checkpoint that is being read.
        with suppress(FileNotFoundError), regular(path) as file:
            lines = file.readlines()
        for line in lines:
            with suppress(ValueError):
                at, host = line.decode().split(" ")
                if not host.endswith("\n"):
                    continue
                name = host[:-1]
                until[name] = max(until.get(name, 0.0), float(at))
    return until
