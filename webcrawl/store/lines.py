"""Lines of files of any size: between two places, in order, sorted, or packed by zstd.

A packed block is its size, the crc32 of its bytes, and these; a size of 0 is the end.
"""

from __future__ import annotations

import contextlib
import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Self
from zlib import crc32

from webcrawl.base.zstd_frame import pack, unpack
from webcrawl.store.disk import Disk, regular, replacing
from webcrawl.store.errors import DamagedFile

PIECE = 4 << 20  # bytes read at once
# bytes: no line of ours comes near it, but a damaged file may have no line ends at all
LONGEST_LINE = 1 << 20
AFTER_ALL_LINES = b"\xff"  # comes after every line


def seek_line(file: BinaryIO, place: int) -> int:
    """Go to the first line that begins at this place or behind it; return where that is."""
    if not place:
        file.seek(0)
        return 0
    # If a line begins at the place, the byte before it is the end of another line
    file.seek(place - 1)
    return place - 1 + len(file.readline(LONGEST_LINE))


def place_of(file: BinaryIO, end: int, start: bytes) -> int:
    """Return an offset in a sorted file that is at or before its first line >= `start`.

    `end`: the file's length.
    """

    def line_at(place: int) -> bytes:
        seek_line(file, place)
        return file.readline(LONGEST_LINE) or AFTER_ALL_LINES

    # By offsets in place of lines: the next line from each offset on is never before that from an
    # earlier one
    return bisect_left(range(end), start, key=line_at)


def pieces_between(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines that begin between two offsets, many at a time, as (offset, lines
    joined).

    A piece without an end of line that is longer than LONGEST_LINE is damage, and left out.
    """
    offset = seek_line(file, begin)
    rest = b""
    while data := file.read(min(PIECE, max(end - offset - len(rest), 0))):
        lines, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield offset, lines
            offset += len(lines) + 1
        elif len(rest) > LONGEST_LINE:
            # This is no line, but a damaged part, which must not grow in memory
            offset += len(rest)
            rest = b""


def lines_between(file: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    """Yield the whole lines that begin between two offsets, without their ends."""
    for _, piece in pieces_between(file, begin, end):
        yield from piece.split(b"\n")


def lines_of(file: BinaryIO, end: int, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines between two bytes of a file, each with its place.

    A line that is too long comes in pieces.
    """
    file.seek(at)
    while at < end and (line := file.readline(min(LONGEST_LINE, end - at))):
        yield at, line
        at += len(line)


# bytes sorted at once: about 3,000 lines, 2 ms in which no other thread of Python runs
RUN = 1 << 20
BLOCK_PIECE = 1 << 16  # bytes read or written at once of sorted lines and blocks
RUNS = ".runs"
SCRATCH = (RUNS, ".new")  # after the new file's name: the files that are written meanwhile


def sort_lines(disk: Disk, source: Path, target: Path) -> None:
    """Write the lines of `source`, sorted by their bytes, to `target`, which appears whole.

    `source` stays. Two files beside `target` are written meanwhile.
    """
    with (
        replacing(disk, target) as out,
        _temporary_file(disk, target.with_name(target.name + RUNS)) as sorted_parts,
    ):
        # Sorted pieces are written, and merged from the disk: memory has one piece at a time
        bounds = [0]
        with source.open("rb") as file:
            while lines := file.readlines(RUN):
                lines.sort()
                disk.write(sorted_parts, b"".join(lines))
                bounds.append(file.tell())
        parts = [_lines_of_part(sorted_parts, start, end) for start, end in pairwise(bounds)]
        for piece in _joined_lines(merge(*parts)):
            disk.write(out, piece)


@contextlib.contextmanager
def _temporary_file(disk: Disk, path: Path) -> Iterator[int]:
    """Yield the descriptor of a new file, which is removed at the end."""
    # An attempt that was interrupted has left one
    disk.unlink(path)
    fd = disk.create(path)
    try:
        yield fd
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):  # the next attempt removes it
            disk.unlink(path)


def _lines_of_part(fd: int, at: int, end: int) -> Iterator[bytes]:
    """Yield the lines between two offsets of an open file, each with its end of line."""
    tail = b""
    while at < end and (piece := os.pread(fd, min(BLOCK_PIECE, end - at), at)):
        at += len(piece)
        *whole, tail = (tail + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if tail:
        yield tail


def _joined_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines again, joined to pieces of BLOCK_PIECE bytes that are worth a system call."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= BLOCK_PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)


HEAD = struct.Struct("<II")
BLOCK = 1 << 18  # bytes of lines
LINES_AT_ONCE = 100  # lines that enter a block together, whose size is looked at afterwards
MAX_PACKED = 1 << 26  # bytes of a packed block: what is more is damage


class BlockWriter:
    """Writes a file of blocks.

    As a context it syncs what was written, or removes it after an error.
    """

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self.path = path
        self._buffered: list[bytes] = []  # lines of the next block
        self._buffered_bytes = 0
        self._written_bytes = 0
        self._written_lines = 0  # buffered ones, too
        disk.unlink(path)
        self._fd = disk.create(path)

    @property
    def named(self) -> tuple[str, int, int]:
        """Return the file's name, and how many bytes and lines were written."""
        return self.path.name, self._written_bytes, self._written_lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the block that ends the file and sync it; after any error remove the file instead."""
        is_whole = False
        try:
            if kind is None:
                self._flush()
                self._put(HEAD.pack(0, 0))
                self._disk.sync(self._fd)
                self._disk.sync_folder(self.path.parent)
                is_whole = True
        finally:
            os.close(self._fd)
            if not is_whole:
                self._disk.unlink(self.path)

    def write(self, lines: Sequence[bytes]) -> None:
        """Add lines; each ends in a line's end."""
        for first in range(0, len(lines), LINES_AT_ONCE):
            part = lines[first : first + LINES_AT_ONCE]
            self._buffered.extend(part)
            self._buffered_bytes += sum(map(len, part))
            self._written_lines += len(part)
            if self._buffered_bytes >= BLOCK:
                self._flush()

    def _flush(self) -> None:
        """Write the buffered lines as a block, if there are any."""
        if self._buffered:
            packed = pack(b"".join(self._buffered))
            self._put(HEAD.pack(len(packed), crc32(packed)) + packed)
            self._buffered = []
            self._buffered_bytes = 0

    def _put(self, data: bytes) -> None:
        self._disk.write(self._fd, data)
        self._written_bytes += len(data)


class BlockReader:
    """Gives the lines, a block at a time. Raises DamagedFile for what is not as it was written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._file = regular(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[list[bytes]]:
        return self

    def __next__(self) -> list[bytes]:
        """Return the lines of the next block, each with its end of line.

        Raise DamagedFile if the block is not as it was written, or if the file ends without the
        last block.
        """
        head = self._file.read(HEAD.size)
        if len(head) < HEAD.size:
            raise DamagedFile(self._path, self._at, "the file ends too early")
        size, crc = HEAD.unpack(head)
        if not size:
            raise StopIteration
        # A damaged size must not ask for gigabytes: without the bytes the checksum is wrong
        packed = self._file.read(size) if size <= MAX_PACKED else b""
        if crc32(packed) != crc:
            raise DamagedFile(self._path, self._at, "wrong checksum")
        self._at += HEAD.size + size
        return unpack(packed).splitlines(keepends=True)
