"""Looks for URLs in logs of any size, and in the sorted indexes of the archive."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from webcrawl.base.model import Exchange
from webcrawl.base.readable import count
from webcrawl.base.surt import surt
from webcrawl.base.url_text import visible
from webcrawl.net.robots import LIMIT
from webcrawl.record.archived_answers import Answers, RecordedCapture, Unusable
from webcrawl.record.archived_answers import most as bytes_of
from webcrawl.record.warc.reader import NotWarc, RecordReader
from webcrawl.record.warc.unpacking import RecordStart
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import CrawlLine, read
from webcrawl.store.jobdir.index_line import INDEX, BadLine, IndexLine
from webcrawl.store.jobdir.index_line import read as entry_of
from webcrawl.store.lines import LONGEST_LINE, lines_between, pieces_between, place_of, seek_line
from webcrawl.store.output import OPEN

MIB = 1 << 20
FEW = 8  # URLs that are searched in a piece as a whole first: most pieces have none
QUICK = 256 * MIB  # bytes of a log: about a million lines, half a second
# The log is nearly in the order of time, and an index line has the date of a URL's answer. With 100
# million keys and 10 million log lines an answer takes 0.1 s so, and 4 to 5 s with --all.
AROUND = 2 * MIB  # bytes looked at on each side of a time
FIRST = 1 << 17  # bytes of the first lines of a log
OPEN_MOST = 64 * MIB  # bytes of an index that is not sorted yet: it has one file's records


def size(number: int) -> str:
    """Return a number of bytes in words, in MiB if there are many."""
    return f"{number / MIB:,.0f} MiB" if number >= MIB else count(number, "byte")


def last_lines(
    path: Path, length: int | None, most: int | None, name: str, looked: list[str]
) -> Iterator[bytes]:
    """Give the lines of the last `most` bytes of a file; None: all of it.

    `length`: what the last checkpoint noted of it; None: all of it counts. If that is not all,
    `looked` is told so.
    """
    with suppress(OSError), regular(path) as file:
        whole = _whole(file, length)
        if most is not None and most < whole:
            looked.append(f"{name}: the last {size(most)} of {size(whole)}")
        yield from lines_between(file, 0 if most is None else max(0, whole - most), whole)


def _whole(file: BinaryIO, length: int | None) -> int:
    """Return how many bytes of a file count."""
    there = os.fstat(file.fileno()).st_size
    return there if length is None else min(length, there)


@dataclass(slots=True)
class LogMatches:
    """The lines of each URL, in their order, and how much of the log was looked at."""

    lines: dict[str, dict[int, bytes]] = field(default_factory=dict)  # by place
    name: str = ""  # of the log
    looked: int = 0  # bytes
    of: int = 0

    @property
    def cut(self) -> list[str]:
        """Return a line about what was not looked at, if anything was not."""
        return (
            []
            if self.looked >= self.of
            else [f"{self.name}: the last {size(self.looked)} of {size(self.of)}"]
        )


class LogFile:
    """A log of lines, of which the field number `column` is the URL.

    `length`: what the last checkpoint noted of it; None: all of it counts.
    """

    def __init__(
        self, folder: Path, name: str, length: int | None, column: int, separator: bytes
    ) -> None:
        self._path = folder / name
        self._name = name
        self._length = length
        self._column = column
        self._separator = separator

    def look(self, urls: Iterable[str], *, deep: bool = False, quick: int = QUICK) -> LogMatches:
        """Look at the last `quick` bytes, or at all."""
        looked = LogMatches({url: {} for url in urls}, self._name)
        with suppress(OSError), regular(self._path) as file:
            looked.of = _whole(file, self._length)
            looked.looked = looked.of if deep else min(quick, looked.of)
            self._note(file, looked.of - looked.looked, looked.of, looked)
        return looked

    def since(self, urls: Iterable[str], place: int) -> LogMatches:
        """Look at what was written from this place on."""
        looked = LogMatches({url: {} for url in urls}, self._name)
        with suppress(OSError), regular(self._path) as file:
            self._note(file, place, _whole(file, self._length), looked)
        return looked

    def near(self, url: str, moment: str) -> dict[int, bytes]:
        """Return the lines of a URL around a time: a log is nearly in the order of its times."""
        looked = LogMatches({url: {}}, self._name)
        with suppress(OSError), regular(self._path) as file:
            whole = _whole(file, self._length)
            place = place_of(file, whole, moment.encode())
            self._note(file, max(0, place - AROUND), min(whole, place + AROUND), looked)
        return looked.lines[url]

    def first_lines(self) -> Iterator[CrawlLine]:
        """Give the first lines of crawl.log, as many as a few pages have."""
        with suppress(OSError), regular(self._path) as file:
            for line in lines_between(file, 0, min(FIRST, _whole(file, self._length))):
                if (found := read(line)) is not None:
                    yield found

    def _note(self, file: BinaryIO, begin: int, end: int, looked: LogMatches) -> None:
        """Note the lines of the wanted URLs between two places, by their own place in the file."""
        if begin >= end:
            return
        wanted = {visible(url).encode("ascii"): url for url in looked.lines}
        for at, piece in pieces_between(file, begin, end):
            if len(wanted) <= FEW and not any(url in piece for url in wanted):
                continue  # a search in the whole piece is faster than splitting it into lines
            place = at
            for line in piece.split(b"\n"):
                url = wanted.get(self._field(line))
                if url is not None:
                    looked.lines[url][place] = line
                place += len(line) + 1

    def _field(self, line: bytes) -> bytes:
        """Return the field that has the URL; empty if the line is too short."""
        # fields are padded with blanks
        separator = None if self._separator == b" " else self._separator
        fields = line.split(separator, self._column + 1)
        return fields[self._column] if len(fields) > self._column else b""


class ArchiveIndexes:
    """All indexes of a JOBDIR, as far as the last checkpoint has noted them."""

    def __init__(self, jobdir: Path, lengths: Mapping[str, int], *, alive: bool = False) -> None:
        """`alive`: the crawl runs, and what it wrote since counts too."""
        self._jobdir = jobdir
        self._lengths = {path: length for path, length in lengths.items() if INDEX in path}
        if alive:
            for path in jobdir.glob(f"warc/*{INDEX}{OPEN}"):
                with suppress(FileNotFoundError):  # finished at this moment
                    self._lengths[path.relative_to(jobdir).as_posix()] = path.stat().st_size
        self.gone = 0  # finished ones that were taken away
        self.unread: list[str] = []  # a line for each that cannot be read
        self.cut = False  # not all of the open one was looked at

    def entries_of(self, urls: Iterable[str]) -> dict[str, list[IndexLine]]:
        """Return the entries of each of these URLs, the latest last."""
        found: dict[str, list[IndexLine]] = {url: [] for url in urls}
        keys = {surt(url).encode() for url in found}
        self.gone = 0
        self.unread = []
        for name, length in self._lengths.items():
            try:
                for line in self._lines(name, length, keys):
                    self._note(line, found)
            except FileNotFoundError:
                self.gone += 1
            except OSError as error:
                self.unread.append(f"{name}: {error.strerror}: its information is missing here")
        for entries in found.values():
            entries.sort(key=lambda entry: entry.stamp)
        return found

    def _lines(self, name: str, length: int, keys: Collection[bytes]) -> Iterator[bytes]:
        """Give the lines of an index that have one of these keys.

        One that is being written is not sorted.
        """
        final = self._jobdir / name.removesuffix(OPEN)
        if final.exists():
            with regular(final) as file:
                end = _whole(file, None)
                for key in keys:
                    yield from sorted_lines(file, end, key + b" ")
            return
        self.cut = self.cut or length > OPEN_MOST
        with regular(Path(f"{final}{OPEN}")) as file:
            for line in lines_between(file, 0, min(length, OPEN_MOST)):
                if line.partition(b" ")[0] in keys:
                    yield line

    def _note(self, line: bytes, found: Mapping[str, list[IndexLine]]) -> None:
        try:
            entry = entry_of(line)
        except BadLine:
            return
        if entry.url in found:
            path = self._jobdir / "warc" / entry.file
            is_open = not path.exists() and Path(f"{path}{OPEN}").exists()
            found[entry.url].append(entry.in_file(f"{entry.file}{OPEN}") if is_open else entry)


def sorted_lines(file: BinaryIO, end: int, start: bytes) -> Iterator[bytes]:
    """Give the lines that begin with these bytes, of a file whose lines are sorted."""
    seek_line(file, place_of(file, end, start))
    while (line := file.readline(LONGEST_LINE)).startswith(start):
        yield line.rstrip(b"\n")


def archived(jobdir: Path, entry: IndexLine, address: str | None = None) -> dict[str, Any]:
    """Return a record's place and the command that prints it, or where its file lies."""
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
    return found | {
        "command": f"tail -c +{entry.offset + 1} {name} | head -c {entry.length} | gzip -dc"
    }


def exchange_of(jobdir: Path, entry: IndexLine, most: int = LIMIT) -> Exchange | None:
    """Return the answer of a record, its body up to `most` bytes; None if it cannot be read."""
    path = jobdir / "warc" / entry.file
    with suppress(OSError, NotWarc, Unusable):
        with RecordReader(
            path, bytes_of(most), lambda _: None, RecordStart(entry.offset, 0)
        ) as records:
            record = records.next()
        if record is not None and record.place.offset == entry.offset:
            return Answers(most).read(RecordedCapture(record, record.place))[1]
    return None
