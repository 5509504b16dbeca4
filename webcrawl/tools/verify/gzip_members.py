"""Unpacks a file of gzip members one by one in bounded memory; all positions are bytes of the file."""

from __future__ import annotations

import zlib
from typing import BinaryIO, cast

from isal import igzip_lib, isal_zlib

from webcrawl.base.gzip_header import CHECKED, MAGIC, SHORTEST, header_end

GZIP = 31  # zlib's number for a gzip member with the largest window
READ = 1 << 14  # bytes per read: a record has a few thousand, and bytes read beyond it are read again
PIECE = 1 << 18  # bytes unpacked at a time
HEADER = MAGIC + bytes(5)  # as our writer makes it: no flags, no time
ERROR = cast("type[Exception]", igzip_lib.IsalError)  # isal's hints call it an instance


class Torn(Exception):  # noqa: N818 - reads as what it is
    """A gzip member, or the record in it, is damaged."""


RESERVED = 0xE0  # flags that no valid header has
LONGEST = 1 << 18  # bytes of a header: an extra field has 64 KiB at most, a name or a comment has no bound
PLAIN = HEADER + bytes(SHORTEST - len(HEADER))  # isal misreads headers with several fields that come in pieces


def header_length(data: bytes) -> int:
    """The bytes of any valid header of a gzip member at the beginning of this data."""
    if len(data) < SHORTEST or not data.startswith(MAGIC) or data[3] & RESERVED:
        raise Torn("not a gzip member")
    end = header_end(data)
    if not end:
        raise Torn("no end of a gzip header")
    if data[3] & CHECKED and data[end - 2 : end] != (zlib.crc32(data[: end - 2]) & 0xFFFF).to_bytes(2, "little"):
        raise Torn("gzip header: checksum")
    return end


class Member:
    """One member, from byte `at` of a file that counts up to byte `end`.

    `ours`: its header is our writer's to the bit, which shows damage where no checksum does. Other programs note a
    time, a name or an extra field there.
    """

    def __init__(self, file: BinaryIO, at: int, end: int, *, ours: bool = True) -> None:
        self._file, self._at, self._end = file, at, end
        self._unpacker = isal_zlib.decompressobj(GZIP)
        self._packed = b""
        self._data = b""
        file.seek(at)
        if file.read(len(HEADER)) != HEADER:
            if ours:
                raise Torn("not a gzip member")
            file.seek(at)
            self._at += header_length(file.read(min(LONGEST, end - at)))
            self._packed = PLAIN
        file.seek(self._at)

    def _more(self) -> bool:
        """Unpacks some more; False at the end of a member whose checksum and length are right."""
        while not self._unpacker.eof:
            if not self._packed:
                self._packed = self._file.read(min(READ, self._end - self._at))
                self._at += len(self._packed)
                if not self._packed:
                    raise Torn("the file ends within a record")
            try:
                data = self._unpacker.decompress(self._packed, PIECE)
            except ERROR as error:
                raise Torn(f"compression: {error}") from error
            self._packed = self._unpacker.unconsumed_tail
            if data:
                self._data += data
                return True
        return False

    def read(self, most: int) -> bytes:
        """Up to `most` bytes; none at the end."""
        if not self._data and not self._more():
            return b""
        data, self._data = self._data[:most], self._data[most:]
        return data

    def until(self, mark: bytes, most: int) -> bytes:
        """The bytes up to and including this mark; Torn if it does not come within `most` bytes."""
        at = self._data.find(mark)
        while at < 0:
            if len(self._data) > most or not self._more():
                raise Torn("no end of a record's head")
            at = self._data.find(mark)
        at += len(mark)
        data, self._data = self._data[:at], self._data[at:]
        return data

    @property
    def next(self) -> int:
        """The place of the next member, once this one has been read completely."""
        return self._at - len(self._unpacker.unused_data)


def find(file: BinaryIO, at: int, end: int) -> int:
    """The first position from `at` on where a member may begin; or `end`."""
    tail = b""
    while at < end:
        file.seek(at)
        piece = file.read(min(PIECE, end - at))
        if not piece:
            return end
        place = (tail + piece).find(MAGIC)
        if place >= 0:
            return at - len(tail) + place
        tail = piece[-2:]
        at += len(piece)
    return end
