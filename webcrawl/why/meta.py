"""The values of the table `meta`, read with their checksums: what cannot be read is damage, in a line."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgpack

from webcrawl.store import rowcrc
from webcrawl.verify.snapshot import Snapshot

T = TypeVar("T")
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, struct.error)


def value(snapshot: Snapshot, name: str, read: Callable[[bytes], T], default: T) -> T:
    """What `read` makes of a value; the default if there is none. DamagedFile if it cannot be read."""
    for row in snapshot.rows("SELECT name, value, crc FROM meta WHERE name = ?", (name,)):
        if not rowcrc.agrees(rowcrc.meta, row):
            raise snapshot.damaged(f"table meta, {name}: checksum", value=row[1])
        try:
            return read(row[1])
        except UNREADABLE as error:
            raise snapshot.damaged(f"table meta, {name}: {error!r}", value=row[1]) from error
    return default


def mapping(data: bytes) -> dict[str, Any]:
    """A map, of whichever of the two forms it has."""
    found = json.loads(data) if data[:1] == b"{" else msgpack.unpackb(data)
    if not isinstance(found, Mapping):
        raise TypeError("not a mapping")
    return dict(found)


def eights(data: bytes) -> bytes:
    """Numbers of 64 bits."""
    if len(data) % 8:
        raise ValueError("not a whole number of keys")
    return data
