"""Unpacks a file of gzip members one by one in bounded memory; all positions are bytes of the file."""

from __future__ import annotations

from typing import BinaryIO, cast

from isal import igzip_lib, isal_zlib

GZIP = 31  # zlib's number for a gzip member with the largest window
READ = 1 << 14  # bytes per read: a record has a few thousand, and bytes read beyond it are read again
PIECE = 1 << 18  # bytes unpacked at a time
MAGIC = b"\x1f\x8b\x08"
HEADER = MAGIC + bytes(5)  # as our writer makes it: no flags, no time
ERROR = cast("type[Exception]", igzip_lib.IsalError)  # isal's hints call it an instance


class Torn(Exception):  # noqa: N818 - reads as what it is
    """A gzip member, or the record in it, is damaged."""


class Member:
    """One member, from byte `at` of a file that counts up to byte `end`."""

    def __init__(self, file: BinaryIO, at: int, end: int) -> None:
        self._file, self._at, self._end = file, at, end
        self._unpacker = isal_zlib.decompressobj(GZIP)
        self._packed = b""
        self._data = b""
        file.seek(at)
        if file.read(len(HEADER)) != HEADER:
            raise Torn("not a gzip member")
        file.seek(at)

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
