"""Looks for URLs in what a crawl has written: in logs of any size, and by the sorted indexes of the archive."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from typing import Any

from webcrawl.base.model import Exchange
from webcrawl.base.surt import surt
from webcrawl.base.url_text import visible
from webcrawl.net.robots import LIMIT
from webcrawl.record.archives.archived_answers import Answers, Capture, Unusable
from webcrawl.record.archives.archived_answers import most as bytes_of
from webcrawl.record.warc.reader import NotWarc, Records
from webcrawl.record.warc.unpacking import Place
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import CrawlLine, read
from webcrawl.store.jobdir.index_line import INDEX, BadLine, IndexLine
from webcrawl.store.jobdir.index_line import read as entry_of
from webcrawl.store.output import OPEN

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


LONGEST_ENTRY = 1 << 16  # bytes of a line: a URL, its key, and some more
BLOCK = 1 << 12  # bytes read at once where a search has come close
WORTH = 5000  # bytes of a file that are read in the time of one search: with more URLs, all of it is read
OPEN_MOST = 64 << 20  # bytes of an index that is not sorted yet: it has one file's records


class Indexes:
    """All indexes of a JOBDIR, as far as the last checkpoint has noted them."""

    def __init__(self, jobdir: Path, lengths: Mapping[str, int], *, alive: bool = False) -> None:
        """`alive`: the crawl runs, and what it wrote since counts too."""
        self._jobdir = jobdir
        self._lengths = {path: size for path, size in lengths.items() if INDEX in path}
        if alive:
            for path in jobdir.glob(f"warc/*{INDEX}{OPEN}"):
                with suppress(FileNotFoundError):  # finished at this moment
                    self._lengths[path.relative_to(jobdir).as_posix()] = path.stat().st_size
        self.gone = 0  # finished ones that were taken away
        self.unread: list[str] = []  # a line for each that cannot be read
        self.cut = False  # not all of the open one was looked at

    @property
    def any(self) -> bool:
        return bool(self._lengths)

    def entries_of(self, urls: Iterable[str]) -> dict[str, list[IndexLine]]:
        """The entries of each of these URLs, the latest last."""
        found: dict[str, list[IndexLine]] = {url: [] for url in urls}
        keys: dict[str, set[str]] = {}
        for url in found:
            keys.setdefault(surt(url), set()).add(url)
        self.gone, self.unread = 0, []
        for name, length in self._lengths.items():
            try:
                self._look(name, length, keys, found)
            except FileNotFoundError:
                self.gone += 1
            except OSError as error:
                self.unread.append(f"{name}: {error.strerror}: what it would say is missing here")
        for entries in found.values():
            entries.sort(key=lambda entry: entry.stamp)
        return found

    def _look(self, name: str, length: int, keys: Mapping[str, set[str]], found: dict[str, list[IndexLine]]) -> None:
        final = name.removesuffix(OPEN)
        path = self._jobdir / final
        if path.exists():
            with regular(path) as file:
                descriptor = file.fileno()
                size = os.fstat(descriptor).st_size
                if len(keys) * WORTH > size:
                    for line in _lines_with(descriptor, size, set(found)):
                        self._note(line, keys.get(line.partition(b" ")[0].decode("ascii", "replace"), set()), found)
                    return
                for key, wanted in keys.items():
                    for line in lines_of(descriptor, size, f"{key} ".encode()):
                        self._note(line, wanted, found)
            return
        wanted = set(found)
        with regular(self._jobdir / f"{final}{OPEN}") as file:
            self.cut = self.cut or length > OPEN_MOST
            for line in _lines_with(file.fileno(), min(length, OPEN_MOST), wanted):
                self._note(line, wanted, found)

    def _note(self, line: bytes, wanted: set[str], found: dict[str, list[IndexLine]]) -> None:
        try:
            entry = entry_of(line)
        except BadLine:
            return
        if entry.url in wanted:
            path = self._jobdir / "warc" / entry.file
            file = entry.file if path.exists() or not Path(f"{path}{OPEN}").exists() else f"{entry.file}{OPEN}"
            found[entry.url].append(entry.in_file(file))


def lines_of(descriptor: int, size: int, start: bytes) -> Iterator[bytes]:
    """The lines of a sorted file that begin with these bytes."""
    low, high = 0, size  # the first of them begins behind `low`, or at 0, and not behind `high`
    while high - low > BLOCK:
        middle = (low + high) // 2
        at, line = _line_behind(descriptor, middle, size, len(start))
        if at >= high:
            high = middle
        elif line < start:
            low = at
        else:
            high = middle
    at = low
    rest = b""
    while at < size:
        data = os.pread(descriptor, BLOCK, at)
        if not data:
            return
        at += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line.startswith(start):
                yield line
            elif line > start:
                return
        if len(rest) > LONGEST_ENTRY:
            return


def _line_behind(descriptor: int, place: int, size: int, need: int) -> tuple[int, bytes]:
    """The place of the first line behind this byte, and at least so many bytes of it, if it has them.

    The end of the file if no line begins there.
    """
    at, data = place, b""
    while at < size and len(data) < LONGEST_ENTRY:
        more = os.pread(descriptor, BLOCK, at)
        if not more:
            break
        data += more
        at += len(more)
        end = data.find(b"\n") + 1
        if end and end < len(data) and (len(data) - end >= need or b"\n" in data[end:] or at >= size):
            return place + end, data[end:].partition(b"\n")[0]
    return size, b""


def _lines_with(descriptor: int, size: int, urls: set[str]) -> Iterator[bytes]:
    """The lines of a file in any order that have one of these URLs."""
    few = [f'"url": {quoted(url)}'.encode() for url in urls] if len(urls) <= 8 else None
    at, rest = 0, b""
    while at < size:
        data = os.pread(descriptor, min(PIECE, size - at), at)
        if not data:
            return
        at += len(data)
        whole, _, rest = (rest + data).rpartition(b"\n")
        if few is None:
            yield from whole.split(b"\n")
        else:
            yield from (line for one in few if one in whole for line in whole.split(b"\n") if one in line)


def archived(jobdir: Path, entry: IndexLine, address: str | None = None) -> dict[str, Any]:
    """The place of a record, and the command that prints it; or the address where the file lies if it is not here."""
    path = jobdir / "warc" / entry.file
    found: dict[str, Any] = {
        "file": str(path),
        "offset": entry.offset,
        "length": entry.length,
        "date": entry.stamp,
        "status": entry.status or None,
        "mime": entry.mime or None,
        "digest": entry.digest or None,
    }
    if not path.exists():
        return found | {"missing": True, **({"stored": address} if address else {})}
    name = shlex.quote(str(path))
    return found | {"command": f"tail -c +{entry.offset + 1} {name} | head -c {entry.length} | gzip -dc"}


def exchange_of(jobdir: Path, entry: IndexLine, most: int = LIMIT) -> Exchange | None:
    """The answer of a record, its body up to `most` bytes; None if it cannot be read."""
    path = jobdir / "warc" / entry.file
    with suppress(OSError, NotWarc, Unusable):
        with Records(path, bytes_of(most), lambda _: None, Place(entry.offset, 0)) as records:
            record = records.next()
        if record is not None and record.place.offset == entry.offset:
            return Answers(most).read(Capture(record, record.place))[1]
    return None
