"""The crc32 in the last column of a row of crawl.db: SQLite has none, and most flipped bits leave a row readable.

Blocks, and the records of `waiting`, are zstd frames with checksums of their own; a row of `run` says nothing that its
file does not say too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32  # of a hundred bytes 0.1 us, half of what isal takes

from isal import isal_zlib

crc32_of_many = isal_zlib.crc32  # the same sum: of 64 KiB 1.1 us, where zlib takes 18
UNTIL = struct.Struct("<d")
NOTED = struct.Struct("<QI")
# What the formulas below raise for a value of another type, as a flipped bit in a row's head makes it.
MISFITS = (TypeError, AttributeError, ValueError, OverflowError, struct.error)


def meta(name: str, value: bytes) -> int:
    return crc32_of_many(value, crc32(name.encode()))


def host(name: str, state: int, data: bytes) -> int:
    """0.3 us. The crc begins with the state, so that any other of 32 bits makes another one."""
    return crc32(data, crc32(name.encode(), state))


def robots(origin: str, until: float, rules: bytes) -> int:
    return crc32(UNTIL.pack(until) + rules, crc32(origin.encode()))


def waiting(seq: int, keys: bytes) -> int:
    return crc32_of_many(keys, crc32(b"%d" % seq))


def output(path: str, length: int, bytes_crc: int) -> int:
    return crc32(NOTED.pack(length, bytes_crc), crc32(path.encode()))


def agrees(formula: Callable[..., int], row: Sequence[Any]) -> bool:
    """Whether the last value of this row is the crc of those before it."""
    try:
        return bool(formula(*row[:-1]) == row[-1])
    except MISFITS:
        return False
