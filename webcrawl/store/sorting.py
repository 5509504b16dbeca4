"""Sorts the lines of a file into a new file, in bounded memory, beside a crawl that goes on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import pairwise
from pathlib import Path

from webcrawl.store.disk import Disk

RUN = 1 << 20  # bytes sorted at once: about 3,000 lines, 2 ms in which no other thread of Python runs
PIECE = 1 << 16  # bytes read or written at once
SCRATCH = (".runs", ".new")  # after the new file's name: the files that are written meanwhile


def sort_lines(disk: Disk, source: Path, target: Path) -> None:
    """Writes the lines of `source`, sorted by their bytes, to `target`, which appears whole; `source` stays.

    Two files beside it are written meanwhile. What an attempt that was interrupted left of them does not matter.
    """
    runs, new = (target.with_name(target.name + ending) for ending in SCRATCH)
    with contextlib.ExitStack() as rest:
        between, out = (rest.enter_context(_scratch(disk, path)) for path in (runs, new))
        bounds = [0]
        with source.open("rb") as file:
            while lines := file.readlines(RUN):
                lines.sort()
                disk.write(between, b"".join(lines))
                bounds.append(file.tell())
        parts = [_lines(between, start, end) for start, end in pairwise(bounds)]
        for piece in _pieces(merge(*parts)):
            disk.write(out, piece)
        disk.sync(out)
        disk.rename(new, target)


@contextlib.contextmanager
def _scratch(disk: Disk, path: Path) -> Iterator[int]:
    """A new file, removed at the end if it is still there."""
    disk.unlink(path)
    fd = disk.create(path)
    try:
        yield fd
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):  # the next attempt removes it
            disk.unlink(path)


def _lines(fd: int, at: int, end: int) -> Iterator[bytes]:
    tail = b""
    while at < end and (piece := os.pread(fd, min(PIECE, end - at), at)):
        at += len(piece)
        *whole, tail = (tail + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if tail:
        yield tail


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, joined to pieces that are worth a system call."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)
