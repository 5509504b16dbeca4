"""Rows of the tables `domain` and `linked`: a domain's URLs over budget, and the links to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgpack

from webcrawl.store import rowcrc

COLUMNS = "name, rank, waiting, data, crc"
ALL, ONE = f"SELECT {COLUMNS} FROM domain", f"SELECT {COLUMNS} FROM domain WHERE name = ?"
FIELDS = (bool, int, int, int, bytes | None)  # of `data`
MOST = 64  # domains counted that link to one
TAG = 4  # bytes of a source's hash: two of 64 sources collide once in two million domains
Row = tuple[str, int, int, bytes, int]


class DomainRow(NamedTuple):
    """A row as the last checkpoint has it; all after `waiting` is packed in `data`, in this order."""

    name: str
    rank: int  # other domains that link to it, when it was looked at last
    waiting: int  # URLs over its budget
    seed: bool
    used: int  # pages that were let into the back-end
    debt: int  # of these, how many are not answered yet, or had nothing new and are not paid for
    old: int  # of these, how many had nothing new
    queue: bytes | None


pack: Callable[[tuple[Any, ...]], bytes] = msgpack.packb  # of these fields, as FIELDS has them


def read(row: Row) -> DomainRow:
    """Return the row's fields. Raise ValueError if the row is damaged."""
    if not rowcrc.agrees(rowcrc.domain, row):
        raise ValueError("wrong checksum")
    try:
        return DomainRow(row[0], row[1], row[2], *msgpack.unpackb(row[3]))
    except (ValueError, TypeError) as error:
        raise ValueError("not a domain record") from error


def check(row: Row) -> DomainRow:
    """Return the row's fields. Raise ValueError if anything in the row is wrong."""
    found = read(row)
    if not all(map(isinstance, found[3:], FIELDS)):
        raise ValueError("not a domain record")
    has_negative = min(found.rank, found.used, found.debt, found.old) < 0
    if not found.name or has_negative or found.rank > MOST:
        raise ValueError("negative counts, or more links than are counted")
    return found


def check_sources(sources: object) -> str:
    """Return the fault of a row of `linked`; empty if it has none."""
    size = len(sources) if isinstance(sources, bytes) else 0
    is_sound = 0 < size <= MOST * TAG and size % TAG == 0
    return "" if is_sound else f"must be the hashes of 1 to {MOST} domains"
