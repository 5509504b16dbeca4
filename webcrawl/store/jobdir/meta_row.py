"""Rows of the table `meta`: named values of a checkpoint, read with checksum (docs/on-disk.md)."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgpack

from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot

T = TypeVar("T")
KEY, KEY_BYTES = "key", 16  # of the crawl's hashes
TERMS = "terms"  # with which spider and settings the crawl was last run, as texts by name
CLOCK = "clock"
CLEAN = "clean"  # the last run ended with a checkpoint
FRONTIER = "frontier"  # counters and the front-end's heads
COUNTERS, STATISTICS, FILTERS = "tallies", "statistics", "filters"
REVISITING = "revisiting"  # pages are fetched again, or were in a former run
MAPPINGS = ("seeds", TERMS, COUNTERS, FILTERS)
UNREADABLE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    struct.error,
)


def value(snapshot: Snapshot, name: str, read: Callable[[bytes], T], default: T) -> T:
    """Return a value as `read` makes it; the default if there is none.

    Raise DamagedFile if it cannot be read.
    """
    for row in snapshot.rows("SELECT name, value, crc FROM meta WHERE name = ?", (name,)):
        if not rowcrc.agrees(rowcrc.meta, row):
            raise snapshot.damaged(f"table meta, {name}: wrong checksum", value=row[1])
        try:
            return read(row[1])
        except UNREADABLE as error:
            raise snapshot.damaged(f"table meta, {name}: {error!r}", value=row[1]) from error
    return default


def mapping(data: bytes) -> dict[str, Any]:
    """Return a map that is saved as JSON or msgpack. Raise TypeError or ValueError for others."""
    # JSON begins with a brace, which msgpack takes for the number 123
    found = json.loads(data) if data[:1] == b"{" else msgpack.unpackb(data, strict_map_key=False)
    if not isinstance(found, Mapping):
        raise TypeError("not a mapping")
    return dict(found)


def eights(data: bytes) -> bytes:
    """Return these bytes, which are numbers of 64 bits.

    Raise ValueError if the last one is truncated.
    """
    if len(data) % 8:
        raise ValueError("not a whole number of keys")
    return data


def readable(snapshot: Snapshot, name: str, faults: list[str]) -> dict[str, Any]:
    """Return a mapping; empty if there is none, or if it is damaged, which a line in `faults` says."""
    try:
        return value(snapshot, name, mapping, {})
    except DamagedFile:
        faults.append(f"{name} in state/crawl.db cannot be read")
        return {}


def read_terms(data: bytes) -> dict[str, str]:
    """Return the terms as they are written now.

    Crawls that are older than the library have ports as ranges of Python's, which are rewritten.
    """
    return {str(name): _PORTS.sub(_as_ports, str(text)) for name, text in mapping(data).items()}


_PORTS = re.compile(r"\brange\((\d+), (\d+)\)")


def _as_ports(found: re.Match[str]) -> str:
    """Return a range of Python's, which ends before its second number, as the setting has it."""
    first, behind = map(int, found.groups())
    return f"{first}" if behind == first + 1 else f"{first}-{behind - 1}"


def terms(snapshot: Snapshot, faults: list[str] | None = None) -> dict[str, str]:
    """Return the spider and settings of the last run.

    If they are damaged, add a line to `faults`, or raise DamagedFile without such a list.
    """
    try:
        return value(snapshot, TERMS, read_terms, {})
    except DamagedFile:
        if faults is None:
            raise
        faults.append(f"{TERMS} in state/crawl.db cannot be read")
        return {}


def key(snapshot: Snapshot) -> bytes:
    """Return the key of the crawl's hashes; one of a damaged state is as long."""
    return (snapshot.get(KEY) or b"").ljust(KEY_BYTES, b"\0")[:KEY_BYTES]


def times(snapshot: Snapshot) -> tuple[float, float]:
    """Return the time of the checkpoint by the crawl's clock, and how far the machine's was ahead
    of that.
    """
    return value(snapshot, CLOCK, _times, (0.0, 0.0))


def is_clean(snapshot: Snapshot) -> bool:
    """Return whether the last run ended with a checkpoint."""
    return snapshot.get(CLEAN) == b"1"


def _times(data: bytes) -> tuple[float, float]:
    last, ahead = msgpack.unpackb(data)
    return float(last), float(ahead)


def check(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Yield the small values that lack their form: key, mappings, states of plug-ins and of the
    archive.
    """
    data = snapshot.get(KEY)
    if data is not None and len(data) != KEY_BYTES:
        yield snapshot.damaged(f"table meta, {KEY}: has {len(data)} bytes instead of {KEY_BYTES}")
    for name in MAPPINGS:
        data = snapshot.get(name)
        try:
            if data is not None:
                mapping(data)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"table meta, {name}: {error}")
    yield from _check_plugins(snapshot)
    yield from _check_archive(snapshot)


def _check_plugins(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Yield the states of pipelines and features that cannot be unpacked."""
    named = "SELECT name, value FROM meta WHERE name GLOB 'pipeline.*' OR name GLOB 'feature.*'"
    for name, saved in snapshot.rows(named):
        try:
            msgpack.unpackb(saved, strict_map_key=False)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"table meta, {name}: {error}")


def _check_archive(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Yield the state of the archive if its form is wrong.

    It is a number and, after a blank, the name of a noted output or nothing.
    """
    archive = (snapshot.get("warc") or b"0 ").decode(errors="replace")
    number, _, path = archive.partition(" ")
    is_noted = not path or bool(list(snapshot.rows("SELECT 1 FROM output WHERE path = ?", (path,))))
    if not number.isdecimal() or not is_noted:
        yield snapshot.damaged(
            f"table meta, warc: {archive!r}: expected a number and the name of a noted output"
        )


def check_sums(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Yield the damage of each row whose checksum is wrong."""
    for row in snapshot.rows("SELECT name, value, crc FROM meta"):
        if not rowcrc.agrees(rowcrc.meta, row):
            yield snapshot.damaged(f"table meta, {row[0]}: wrong checksum", value=row[1])
