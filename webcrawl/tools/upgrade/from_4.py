"""Version 4 of the state becomes version 5 (docs/files.md).

Links have one field more, a chain of redirects, before their request. Hosts have a record of failures and a time at
which they come back, neither of which there was. The tables of domains are new, and empty: budgets begin anew. An
origin whose robots.txt was unreachable is asked again. All forms are written down here as they were, so that this
file stays right whatever becomes of the rest of the program.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import zstandard

from webcrawl.store import rowcrc

TABLES = """
CREATE TABLE domain (
    name TEXT PRIMARY KEY, rank INTEGER NOT NULL, waiting INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX domain_waiting ON domain (rank DESC, name) WHERE waiting > 0;
CREATE TABLE linked (domain INTEGER PRIMARY KEY, sources BLOB NOT NULL);
"""
SAVED = struct.Struct("<BQQI")  # a queue: packed or not, records, place in the first block, number of blocks
LONG = struct.Struct("<BI")  # the length of a record of 255 bytes or more
FIELDS = 7  # of a link
AT_ONCE = 256  # rows that are read before they are written
SHUT = b"!"  # begins the row of an unreachable robots.txt

_pack = zstandard.ZstdCompressor(level=1, write_checksum=True).compress
_unpack = zstandard.ZstdDecompressor().decompress


class NotThisForm(ValueError):  # noqa: N818 - reads as what it is
    """A row is not what version 4 wrote: it is damaged."""


def migrate(db: sqlite3.Connection) -> dict[str, int]:
    """Rewrites all in the open transaction; returns how many of each there were. NotThisForm, sqlite3.Error."""
    for statement in TABLES.split(";"):
        db.execute(statement)
    away = db.execute("DELETE FROM robots WHERE substr(rules, 1, 1) = ?", (SHUT,)).rowcount
    queues = _Queues(db)
    hosts = _rows(db, "host", "name", lambda row: _host(queues, *row))
    portions = _rows(db, "portion", "id", _portion)
    waiting = _rows(db, "waiting", "seq", _waiting)
    _meta(db, "frontier", lambda data: _frontier(queues, data))
    _meta(db, "refusals", _refusals)
    return {
        "URL": queues.links,
        "host": hosts,
        "large page": portions,
        "row of links": waiting,
        "lost robots.txt": away,
    }


def link(record: bytes) -> bytes:
    """A packed link; what has no space in it is none: the name of a host, or nothing."""
    if b" " not in record:
        return record
    fields = record.split(b" ")
    if len(fields) != FIELDS:
        raise NotThisForm(f"a link has {len(fields)} fields")
    return b" ".join([*fields[:-1], b"", fields[-1]])


def records(data: bytes) -> Iterator[bytes]:
    """The records of a queue, each of which begins with its length."""
    at = 0
    while at < len(data):
        size, start = data[at], at + 1
        if size == 255:
            _, size = LONG.unpack_from(data, at)
            start = at + LONG.size
        at = start + size
        if at > len(data):
            raise NotThisForm("a queue ends inside a record")
        yield data[start:at]


def framed(record: bytes) -> bytes:
    return (bytes((len(record),)) if len(record) < 255 else LONG.pack(255, len(record))) + record


class _Queues:
    """Queues with their blocks, each of which belongs to one queue."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.links = 0

    def saved(self, data: bytes | None) -> bytes | None:
        """The saved form of a queue, whose blocks are rewritten. The first begins where the queue had come to."""
        if data is None:
            return None
        packed, count, place, size = SAVED.unpack_from(data)
        body = _unpack(data[SAVED.size :]) if packed else data[SAVED.size :]
        ids = struct.unpack_from(f"<{size}Q", body)
        for number in ids:
            row = self._db.execute("SELECT data FROM block WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise NotThisForm(f"block {number} is missing")
            block = self._converted(_unpack(row[0])[place:])
            self._db.execute("UPDATE block SET data = ? WHERE id = ?", (_pack(block), number))
            place = 0
        body = _pack(body[: 8 * size] + self._converted(body[8 * size :]))
        return SAVED.pack(1, count, 0, size) + body

    def _converted(self, data: bytes) -> bytes:
        found = [*records(data)]
        self.links += len(found)
        return b"".join(framed(link(record)) for record in found)


def _host(queues: _Queues, name: str, state: int, data: bytes, crc: int) -> tuple[Any, ...]:
    _agree(rowcrc.host, (name, state, data, crc), f"host {name}")
    *known, later, queue = (fields := msgpack.unpackb(data))[:9]
    ranked = [[[priority, queues.saved(saved)] for priority, saved in fields[9]]] if len(fields) > 9 else []
    later = [[at, link(record)] for at, record in later]
    queues.links += len(later)
    data = msgpack.packb([*known, later, None, None, queues.saved(queue), *ranked])
    return name, state, data, rowcrc.host(name, state, data)


def _portion(row: tuple[Any, ...]) -> tuple[Any, ...]:
    number, turn, site, count, data, _ = row
    _agree(rowcrc.portion, row[1:], f"portion {number}")
    page, *rest = msgpack.unpackb(_unpack(data), unicode_errors="surrogatepass")
    data = _pack(msgpack.packb([link(page), *rest], unicode_errors="surrogatepass"))
    return number, turn, site, count, data, rowcrc.portion(turn, site, count, data)


def _waiting(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keys, and zstd of the records' lengths and the records; the checksum is of the keys, and stays."""
    seq, keys, data, crc = row
    _agree(rowcrc.waiting, (seq, keys, crc), f"links from {seq}")
    number, data = len(keys) // 8, _unpack(data)
    found, at = [], 4 * number
    for size in struct.unpack_from(f"<{number}I", data):
        found.append(link(data[at : at + size]))
        at += size
    if at != len(data):
        raise NotThisForm(f"links from {seq}: {len(data)} bytes")
    return seq, keys, _pack(struct.pack(f"<{number}I", *map(len, found)) + b"".join(found)), crc


def _frontier(queues: _Queues, data: bytes) -> bytes:
    state = msgpack.unpackb(data)
    state["front"] = [queues.saved(level) for level in state["front"]]
    state["lines"] = {group: queues.saved(line) for group, line in state["lines"].items()}
    return bytes(msgpack.packb({**state, "aside": [], "set aside": (0, 0)}))


def _refusals(data: bytes) -> bytes:
    return bytes(msgpack.packb([[link(record), *rest] for record, *rest in msgpack.unpackb(data)]))


def _rows(db: sqlite3.Connection, table: str, key: str, convert: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> int:
    """Rewrites each row of a table, a few at a time, in the order of its key, which stays."""
    done, after = 0, None
    while True:
        where, values = (f"WHERE {key} > ?", (after,)) if done else ("", ())
        rows = db.execute(f"SELECT * FROM {table} {where} ORDER BY {key} LIMIT {AT_ONCE}", values).fetchall()
        if not rows:
            return done
        places = ", ".join("?" * len(rows[0]))
        db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({places})", map(convert, rows))
        done, after = done + len(rows), rows[-1][0]


def _meta(db: sqlite3.Connection, name: str, convert: Callable[[bytes], bytes]) -> None:
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = ?", (name,)).fetchone()
    if row is not None:
        _agree(rowcrc.meta, row, name)
        data = convert(row[1])
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (name, data, rowcrc.meta(name, data)))


def _agree(formula: Callable[..., int], row: tuple[Any, ...], what: str) -> None:
    if not rowcrc.agrees(formula, row):
        raise NotThisForm(f"{what}: checksum")
