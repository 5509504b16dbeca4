"""Reads text files again: the lines of whole members, from any member on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from isal import isal_zlib

from webcrawl.fulltext.files import MEMBER, name_of
from webcrawl.fulltext.lines import LONGEST
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.output import OPEN
from webcrawl.store.regular import regular

ERROR = cast("type[Exception]", isal_zlib.error)  # isal's hints call it an instance
GZIP = 31  # zlib's number for a gzip member
READ = 1 << 16  # bytes read at once
LARGEST = MEMBER + 16 * LONGEST  # bytes of a member's lines at most, which our own never reach


class Missing(StoreError):  # noqa: N818 - reads as what it is
    """A text file was taken away."""


class Place(NamedTuple):
    """A member: the number of its file, and its first byte there."""

    file: int
    offset: int


def lines(jobdir: Path, place: Place, end: int) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The lines from a member on, over all files, up to and without that of page `end`; each with its member's place.

    StoreError if they are not all there.
    """
    number, offset = place
    while True:
        path, file = _open(jobdir, number)
        with file:
            for first, _, data in members(path, file, offset):
                here = Place(number, first)
                for value in pages(path, first, data):
                    if value["ordinal"] < end:
                        yield here, value
                    if value["ordinal"] >= end - 1:
                        return
        number, offset = number + 1, 0


def pages(path: Path, offset: int, data: bytes) -> Iterator[dict[str, Any]]:
    """The lines of a member."""
    try:
        for line in data.split(b"\n")[:-1]:
            yield json.loads(line)
    except ValueError as error:
        raise DamagedFile(path, offset, f"not the lines of pages: {error}") from error


def member(jobdir: Path, place: Place) -> Iterator[dict[str, Any]]:
    """The lines of one member; none if its file is no longer here."""
    try:
        path, file = _open(jobdir, place.file)
    except Missing:
        return
    with file:
        for first, _, data in members(path, file, place.offset):
            yield from pages(path, first, data)
            return


def members(path: Path, file: BinaryIO, offset: int, end: int | None = None) -> Iterator[tuple[int, int, bytes]]:
    """The whole members from this byte on, up to byte `end`: the first byte of each, the byte after it, its lines."""
    file.seek(offset)
    unpacker, data, packed = isal_zlib.decompressobj(GZIP), bytearray(), b""
    at = offset
    while packed := packed or file.read(READ if end is None else min(READ, end - at)):
        try:
            data += unpacker.decompress(packed, LARGEST)
        except ERROR as error:
            raise DamagedFile(path, offset, f"compression: {error}") from error
        if len(data) > LARGEST:
            raise DamagedFile(path, offset, f"a member of more than {LARGEST} bytes")
        at += len(packed)
        packed = unpacker.unconsumed_tail
        at -= len(packed)
        if unpacker.eof:
            packed = unpacker.unused_data
            at -= len(packed)
            yield offset, at, bytes(data)
            offset = at
            unpacker, data = isal_zlib.decompressobj(GZIP), bytearray()


def _open(jobdir: Path, number: int) -> tuple[Path, BinaryIO]:
    """A file that may still have its `.open`, which may be removed at this moment."""
    path = jobdir / name_of(number)
    for candidate in (path, path.with_name(path.name + OPEN), path):
        try:
            return path, regular(candidate)
        except FileNotFoundError:
            continue
    raise Missing(f"{path}: moved or removed, and the index does not have its pages")
