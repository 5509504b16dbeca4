"""Records one after another in a string of bytes, each behind its length.

One byte is the length; 255 says that four bytes with it follow, little-endian. Most records are URLs with a short
history: a length of four bytes for all cost 4 % of the memory and 12 % of the time.
"""

from __future__ import annotations

import struct

LONG = 255
SHORTS = tuple(bytes((size,)) for size in range(LONG))  # how each short length lies
LENGTH = struct.Struct("<BI")


def frame(record: bytes) -> bytes:
    """The record as it lies."""
    size = len(record)
    return (SHORTS[size] if size < LONG else LENGTH.pack(LONG, size)) + record


def bounds(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Where the record begins and ends whose length lies at `at`; beyond the data if that is torn."""
    size = data[at]
    if size < LONG:
        return at + 1, at + 1 + size
    if at + LENGTH.size > len(data):
        return at + LENGTH.size, at + LENGTH.size
    return at + LENGTH.size, at + LENGTH.size + LENGTH.unpack_from(data, at)[1]


def cut(data: bytes, start: int, share: int) -> int:
    """Where a piece of about `share` bytes ends that begins at `start`: behind a whole record."""
    if len(data) - start <= share:
        return len(data)
    end, enough = start, start + share
    while end < enough:
        _, end = bounds(data, end)
    return end


def count_records(data: bytes | bytearray) -> int:
    """How many records these bytes are; ValueError if they end inside one."""
    count = at = 0
    while at < len(data):
        _, at = bounds(data, at)
        count += 1
    if at != len(data):
        raise ValueError(f"a string of {len(data)} bytes ends inside a record")
    return count
