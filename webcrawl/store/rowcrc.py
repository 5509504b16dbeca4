"""The crc32 in the last column of crawl.db's rows.

SQLite has no checksums, and most flipped bits go unnoticed.

Blocks and the records of `waiting` are zstd frames with checksums of their own. A row of `run` has
none because its file repeats all that it says, one of `linked` because only its length matters.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32  # 0.1 us for a hundred bytes, half of isal's time

from isal import isal_zlib

crc32_of_many = isal_zlib.crc32  # the same checksum: 1.1 us for 64 KiB, where zlib takes 18
UNTIL = struct.Struct("<d")
NOTED = struct.Struct("<QI")
AHEAD = struct.Struct("<qq")
# What the formulas below raise for a value of the wrong type; a flipped bit in a row's header can
# change the type.
MISFITS = (TypeError, AttributeError, ValueError, OverflowError, struct.error)


def meta(name: str, value: bytes) -> int:
    return crc32_of_many(value, crc32(name.encode()))


def host(name: str, state: int, data: bytes) -> int:
    """Return the crc of a row of `host`, in 0.3 us.

    The state is the crc's start value, so any other 32-bit state gives another crc.
    """
    return crc32(data, crc32(name.encode(), state))


def domain(name: str, rank: int, waiting: int, data: bytes) -> int:
    return crc32(data, crc32(b"%d %d %s" % (rank, waiting, name.encode())))


def robots(origin: str, until: float, rules: bytes) -> int:
    return crc32(UNTIL.pack(until) + rules, crc32(origin.encode()))


def waiting(seq: int, keys: bytes) -> int:
    return crc32_of_many(keys, crc32(b"%d" % seq))


def portion(turn: int, site: str, count: int, data: bytes) -> int:
    return crc32_of_many(data, crc32(b"%d %d %s" % (turn, count, site.encode())))


def output(path: str, length: int, bytes_crc: int) -> int:
    return crc32(NOTED.pack(length, bytes_crc), crc32(path.encode()))


def ahead(key: int, since: int, data: bytes) -> int:
    return crc32(data, crc32(AHEAD.pack(key, since)))


def of_host(name: str, data: bytes) -> int:
    """Return the checksum of a row in a table with one value per host (host_table.py)."""
    return crc32(data, crc32(name.encode()))


def agrees(formula: Callable[..., int], row: Sequence[Any]) -> bool:
    """Return whether the last value of this row is the crc of the others."""
    # It adds 0.45 us to the reading of a host's row
    try:
        return bool(formula(*row[:-1]) == row[-1])
    except MISFITS:
        return False
