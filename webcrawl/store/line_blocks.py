"""Files of sorted lines, in blocks that are packed by zstd: written once, synced, then only read.

A block is its size, the crc32 of its bytes, and these; a size of 0 is the end.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self
from zlib import crc32

import zstandard

from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.regular import regular

HEAD = struct.Struct("<II")
BLOCK = 1 << 18  # bytes of lines
AT_ONCE = 100  # lines that enter a block together, whose size is looked at afterwards
MOST = 1 << 26  # bytes of a packed block: what is more is damage


class BlockWriter:
    """Writes a file of blocks. As a context it syncs what was written, or removes it after an error."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk, self.path = disk, path
        self._packer = zstandard.ZstdCompressor(level=1)
        self._waiting: list[bytes] = []
        self._size = self._bytes = self._lines = 0
        disk.unlink(path)
        self._fd = disk.create(path)

    @property
    def named(self) -> tuple[str, int, int]:
        """Name, bytes, lines."""
        return self.path.name, self._bytes, self._lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        whole = False
        try:
            if kind is None:
                self._flush()
                self._put(HEAD.pack(0, 0))
                self._disk.sync(self._fd)
                self._disk.sync_folder(self.path.parent)
                whole = True
        finally:
            os.close(self._fd)
            if not whole:
                self._disk.unlink(self.path)

    def write(self, lines: Sequence[bytes]) -> None:
        """Adds lines; each ends in a line's end."""
        for at in range(0, len(lines), AT_ONCE):
            some = lines[at : at + AT_ONCE]
            self._waiting.extend(some)
            self._size += sum(map(len, some))
            self._lines += len(some)
            if self._size >= BLOCK:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            packed = self._packer.compress(b"".join(self._waiting))
            self._put(HEAD.pack(len(packed), crc32(packed)) + packed)
            self._waiting, self._size = [], 0

    def _put(self, data: bytes) -> None:
        self._disk.write(self._fd, data)
        self._bytes += len(data)


class BlockReader:
    """Gives the lines, a block at a time. DamagedFile for whatever is not as it was written."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0
        self._file = regular(path)
        self._unpacker = zstandard.ZstdDecompressor()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[list[bytes]]:
        return self

    def __next__(self) -> list[bytes]:
        head = self._file.read(HEAD.size)
        if len(head) < HEAD.size:
            raise DamagedFile(self._path, self._at, "ends in the middle")
        size, crc = HEAD.unpack(head)
        if not size:
            raise StopIteration
        packed = self._file.read(size) if size <= MOST else b""
        if crc32(packed) != crc:
            raise DamagedFile(self._path, self._at, "checksum")
        self._at += HEAD.size + size
        return self._unpacker.decompress(packed).splitlines(keepends=True)
