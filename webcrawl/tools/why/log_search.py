"""Looks for URLs in logs that may be of any size: near a time, from the end as far as is quick, or through all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from webcrawl.base.url_text import visible
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import CrawlLine, read

PIECE = 4 << 20
LONGEST = 1 << 17  # bytes of a line
QUICK = 256 << 20  # bytes: about a million lines, a third of a second
AROUND = 2 << 20  # bytes looked at on each side of a time
FEW = 8  # URLs that are searched one by one
EVERYTHING = 1 << 62


@dataclass(slots=True)
class Looked:
    """The lines of each URL, in their order, and how much of the log was looked at."""

    lines: dict[str, dict[int, bytes]] = field(default_factory=dict)  # by place
    looked: int = 0  # bytes
    of: int = 0

    @property
    def whole(self) -> bool:
        return self.looked >= self.of


class LogFile:
    """A log of lines, of which the field number `column` is the URL.

    `length`: what the last checkpoint noted of it; None: all of it counts.
    """

    def __init__(self, path: Path, length: int | None, column: int, separator: bytes = b" ") -> None:
        self._path, self._length = path, EVERYTHING if length is None else length
        self._column, self._separator = column, separator

    def look(self, urls: Iterable[str], *, deep: bool = False, quick: int = QUICK) -> Looked:
        """From the end, `quick` bytes or all."""
        looked = Looked({url: {} for url in urls})
        try:
            file = regular(self._path)
        except OSError:
            return looked
        with file:
            looked.of = min(self._length, os.fstat(file.fileno()).st_size)
            wanted = {self._written(url): url for url in looked.lines}
            for at, piece in pieces_from_end(file.fileno(), looked.of, -1 if deep else quick):
                looked.looked += len(piece)
                self._note(piece, at, wanted, looked)
        for url, lines in looked.lines.items():
            looked.lines[url] = dict(sorted(lines.items()))
        return looked

    def since(self, urls: Iterable[str], place: int) -> Looked:
        """Looks at what was written from this place on."""
        try:
            size = self._path.stat().st_size
        except OSError:
            size = 0
        begun = max(0, size - place) + LONGEST  # the first line that is looked at may be half a line
        looked = self.look(urls, quick=begun)
        for url, lines in looked.lines.items():
            looked.lines[url] = {at: line for at, line in lines.items() if at >= place}
        return looked

    def near(self, looked: Looked, url: str, moment: str) -> None:
        """Adds the lines of a URL around a time, as the log has it: lines are nearly in the order of their times."""
        try:
            file = regular(self._path)
        except OSError:
            return
        with file:
            descriptor = file.fileno()
            size = min(self._length, os.fstat(descriptor).st_size)
            place = _place_of(descriptor, size, moment.encode())
            begin = max(0, place - AROUND)
            data = os.pread(descriptor, min(size, place + AROUND) - begin, begin)
            if begin:
                cut = data.find(b"\n") + 1
                begin, data = begin + cut, data[cut:]
            data = data[: data.rfind(b"\n") + 1]
            self._note(data, begin, {self._written(url): url}, looked)
        looked.lines[url] = dict(sorted(looked.lines[url].items()))

    def last_lines(self, most: int) -> Iterator[bytes]:
        """The lines of the last `most` bytes, or all; the later pieces first."""
        try:
            file = regular(self._path)
        except OSError:
            return
        with file:
            whole = min(self._length, os.fstat(file.fileno()).st_size)
            for _, piece in pieces_from_end(file.fileno(), whole, most):
                yield from piece.split(b"\n")

    def first_lines(self) -> Iterator[CrawlLine]:
        """The first lines of crawl.log, as many as a few pages have."""
        try:
            with regular(self._path) as file:
                data = file.read(min(self._length, LONGEST))
        except OSError:
            return
        yield from (line for line in map(read, data.split(b"\n")) if line is not None)

    def _written(self, url: str) -> bytes:
        return visible(url).encode("ascii")

    def _note(self, piece: bytes, at: int, wanted: dict[bytes, str], looked: Looked) -> None:
        if len(wanted) > FEW:
            for line in piece.split(b"\n"):
                self._note_line(line, at, wanted, looked)
                at += len(line) + 1
            return
        for written in wanted:
            needle = self._separator + written + self._separator
            found = piece.find(needle)
            while found >= 0:
                begin, end = piece.rfind(b"\n", 0, found) + 1, piece.find(b"\n", found)
                end = len(piece) if end < 0 else end
                self._note_line(piece[begin:end], at + begin, wanted, looked)
                found = piece.find(needle, end)

    def _note_line(self, line: bytes, at: int, wanted: dict[bytes, str], looked: Looked) -> None:
        fields = line.split() if self._separator == b" " else line.split(self._separator)
        if len(fields) > self._column:
            url = wanted.get(fields[self._column])
            if url is not None:
                looked.lines[url][at] = line


def pieces_from_end(descriptor: int, size: int, most: int) -> Iterator[tuple[int, bytes]]:
    """The last `most` bytes of a file, or all, in pieces of whole lines, the last first; and where each begins."""
    end, least = size, 0 if most < 0 else max(0, size - most)
    carried = b""  # the beginning of a piece, whose line began before it
    while end > least:
        begin = max(least, end - PIECE)
        data = os.pread(descriptor, end - begin, begin)
        if len(data) < end - begin:
            return
        data += carried
        end = begin
        cut = data.find(b"\n") + 1 if begin else 0
        if begin and (not cut or cut > LONGEST) and len(data) <= LONGEST:
            carried = data
            continue
        carried = data[:cut]
        if len(data) > cut:
            yield begin + cut, data[cut:]


def _place_of(descriptor: int, size: int, moment: bytes) -> int:
    """About where the lines of this time begin."""
    low, high = 0, size
    while high - low > LONGEST:
        middle = (low + high) // 2
        data = os.pread(descriptor, LONGEST, middle)
        begin = data.find(b"\n") + 1
        if not begin or data[begin : begin + len(moment)] >= moment:
            high = middle
        else:
            low = middle
    return low
