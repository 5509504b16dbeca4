"""A sequence of records as bytes, each preceded by its length.

The length is one byte; 255 means that it follows in four bytes, little-endian. Most records are URLs with a short
history: four bytes for every length would cost 4 % more memory and 12 % more time.
"""

from __future__ import annotations

import struct

LONG = 255
SHORTS = tuple(bytes((size,)) for size in range(LONG))  # each short length as its byte
LENGTH = struct.Struct("<BI")


def frame(record: bytes) -> bytes:
    """The record with its length in front."""
    size = len(record)
    return (SHORTS[size] if size < LONG else LENGTH.pack(LONG, size)) + record


def bounds(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Begin and end of the record whose length is at `at`; the end is beyond the data if the record is cut off."""
    size = data[at]
    if size < LONG:
        return at + 1, at + 1 + size
    if at + LENGTH.size > len(data):
        return at + LENGTH.size, at + LENGTH.size
    return at + LENGTH.size, at + LENGTH.size + LENGTH.unpack_from(data, at)[1]


def cut(data: bytes, start: int, share: int) -> int:
    """The end of a piece of about `share` bytes from `start`, after a whole record."""
    if len(data) - start <= share:
        return len(data)
    end, enough = start, start + share
    while end < enough:
        _, end = bounds(data, end)
    return end


def some(data: bytes | bytearray, at: int, most: int) -> list[bytes]:
    """At most so many records from `at` on."""
    found: list[bytes] = []
    while at < len(data) and len(found) < most:
        start, at = bounds(data, at)
        found.append(bytes(data[start:at]))
    return found


def count_records(data: bytes | bytearray) -> int:
    """The number of records in these bytes; ValueError if they end inside one."""
    count = at = 0
    while at < len(data):
        _, at = bounds(data, at)
        count += 1
    if at != len(data):
        raise ValueError(f"{len(data)} bytes end inside a record")
    return count
