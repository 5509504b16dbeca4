"""Reads lines from files of any size: those between two places, and the place of a line in a file in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import BinaryIO

PIECE = 4 << 20  # bytes read at once
LONGEST_LINE = 1 << 20  # bytes: no line of ours comes near it, but a damaged file may have no line ends at all
LAST = b"\xff"  # comes after every line


def seek_line(file: BinaryIO, place: int) -> int:
    """Go to the first line that begins at this place or behind it; return where that is."""
    file.seek(max(place - 1, 0))
    return max(place - 1, 0) + len(file.readline(LONGEST_LINE)) if place else 0


def place_of(file: BinaryIO, end: int, start: bytes) -> int:
    """Return a place before the first line that begins so, or comes after, in a file whose lines are in order."""

    def line_at(place: int) -> bytes:
        seek_line(file, place)
        return file.readline(LONGEST_LINE) or LAST

    return bisect_left(range(end), start, key=line_at)


def pieces_between(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Give the whole lines between these places, many at a time, each time with their place."""
    at = seek_line(file, begin)
    rest = b""
    while data := file.read(min(PIECE, max(end - at - len(rest), 0))):
        lines, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield at, lines
            at += len(lines) + 1
        elif len(rest) > LONGEST_LINE:  # no line
            at += len(rest)
            rest = b""


def lines_between(file: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    """Give the whole lines between these places."""
    for _, piece in pieces_between(file, begin, end):
        yield from piece.split(b"\n")


def lines_of(file: BinaryIO, end: int, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines between two bytes of a file, each with its place; what is too long, in pieces."""
    file.seek(at)
    while at < end and (line := file.readline(min(LONGEST_LINE, end - at))):
        yield at, line
        at += len(line)
