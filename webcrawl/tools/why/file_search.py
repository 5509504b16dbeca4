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
from webcrawl.record.archived_answers import max_block_bytes as bytes_of
from webcrawl.record.warc.reader import NotWarc, RecordReader
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import CrawlLine, read
from webcrawl.store.jobdir.index_line import INDEX, BadLine, IndexLine
from webcrawl.store.jobdir.index_line import read as entry_of
from webcrawl.store.lines import LONGEST_LINE, lines_between, pieces_between, place_of, seek_line
from webcrawl.store.output import OPEN

MIB = 1 << 20
# So few URLs are searched in a whole piece of a log before it is split: most pieces have none.
MAX_WHOLE_SEARCHES = 8
LOG_BYTES = 256 * MIB  # of a log that are searched: about a million lines, half a second
# The log is nearly in the order of time, and an index line has the date of a URL's answer. With 100
# million keys and 10 million log lines an answer takes 0.1 s so, and 4 to 5 s with --all.
AROUND_BYTES = 2 * MIB  # searched on each side of a time
FIRST_BYTES = 1 << 17  # that have the first lines of a log
OPEN_INDEX_BYTES = 64 * MIB  # of an index that is not sorted yet: it has one file's records


def size_words(number: int) -> str:
    """Return a number of bytes in words, in MiB if there are many."""
    return f"{number / MIB:,.0f} MiB" if number >= MIB else count(number, "byte")


def last_lines(
    path: Path, noted_length: int | None, max_bytes: int | None, name: str, unsearched: list[str]
) -> Iterator[bytes]:
    """Yield the lines of the last `max_bytes` bytes of a file; None: of all that counts.

    `noted_length`: how much of it the last checkpoint noted; None: all of it counts. A line about
    what was not searched is added to `unsearched`, with the file's `name`.
    """
    with suppress(OSError), regular(path) as file:
        length = _counted_length(file, noted_length)
        start = 0
        if max_bytes is not None and max_bytes < length:
            start = length - max_bytes
            unsearched.append(f"{name}: the last {size_words(max_bytes)} of {size_words(length)}")
        yield from lines_between(file, start, length)


def _counted_length(file: BinaryIO, noted_length: int | None) -> int:
    """Return how many bytes of a file count: those that the last checkpoint noted, if it did."""
    length = os.fstat(file.fileno()).st_size
    return length if noted_length is None else min(noted_length, length)


@dataclass(slots=True)
class LogMatches:
    """The lines of each URL in a log, and how much of the log was searched."""

    lines: dict[str, dict[int, bytes]] = field(default_factory=dict)  # by URL; by place in the log
    name: str = ""  # of the log
    searched_bytes: int = 0
    length: int = 0  # of the log, in bytes

    @property
    def unsearched(self) -> list[str]:
        """Return a line about what was not searched, if there is anything."""
        if self.searched_bytes >= self.length:
            return []
        searched = size_words(self.searched_bytes)
        return [f"{self.name}: the last {searched} of {size_words(self.length)}"]


class LogFile:
    """A log of lines, of which the field number `column` is the URL.

    `noted_length`: how much of it the last checkpoint noted; None: all of it counts. A log that
    cannot be read has no lines.
    """

    def __init__(
        self, folder: Path, name: str, noted_length: int | None, column: int, separator: bytes
    ) -> None:
        self._path = folder / name
        self._name = name
        self._noted_length = noted_length
        self._column = column
        self._separator = separator

    def search(
        self, urls: Iterable[str], *, deep: bool = False, max_bytes: int = LOG_BYTES
    ) -> LogMatches:
        """Return the lines of these URLs in the last `max_bytes` bytes; with `deep`, in all."""
        matches = LogMatches({url: {} for url in urls}, self._name)
        with suppress(OSError), regular(self._path) as file:
            matches.length = _counted_length(file, self._noted_length)
            matches.searched_bytes = matches.length if deep else min(max_bytes, matches.length)
            start = matches.length - matches.searched_bytes
            self._collect(file, start, matches.length, matches)
        return matches

    def search_since(self, urls: Iterable[str], place: int) -> LogMatches:
        """Return the lines of these URLs that were written from this byte on."""
        matches = LogMatches({url: {} for url in urls}, self._name)
        with suppress(OSError), regular(self._path) as file:
            self._collect(file, place, _counted_length(file, self._noted_length), matches)
        return matches

    def lines_near(self, url: str, moment: str) -> dict[int, bytes]:
        """Return the lines of a URL around a time, by their place.

        A log is nearly in the order of its times.
        """
        matches = LogMatches({url: {}}, self._name)
        with suppress(OSError), regular(self._path) as file:
            length = _counted_length(file, self._noted_length)
            place = place_of(file, length, moment.encode())
            start = max(0, place - AROUND_BYTES)
            self._collect(file, start, min(length, place + AROUND_BYTES), matches)
        return matches.lines[url]

    def first_lines(self) -> Iterator[CrawlLine]:
        """Yield the first lines of crawl.log, as many as a few pages have."""
        with suppress(OSError), regular(self._path) as file:
            end = min(FIRST_BYTES, _counted_length(file, self._noted_length))
            for data in lines_between(file, 0, end):
                line = read(data)
                if line is not None:
                    yield line

    def _collect(self, file: BinaryIO, start: int, end: int, matches: LogMatches) -> None:
        """Add to `matches` the lines of its URLs between two places, by their own place."""
        if start >= end:
            return
        wanted = {visible(url).encode("ascii"): url for url in matches.lines}
        is_few = len(wanted) <= MAX_WHOLE_SEARCHES
        for at, piece in pieces_between(file, start, end):
            if is_few and not any(url in piece for url in wanted):
                continue  # a search in the whole piece is faster than splitting it into lines
            place = at
            for line in piece.split(b"\n"):
                url = wanted.get(self._url_field(line))
                if url is not None:
                    matches.lines[url][place] = line
                place += len(line) + 1

    def _url_field(self, line: bytes) -> bytes:
        """Return the field that has the URL; empty if the line is too short."""
        # fields that blanks separate are padded with blanks
        separator = None if self._separator == b" " else self._separator
        fields = line.split(separator, self._column + 1)
        return fields[self._column] if len(fields) > self._column else b""


class ArchiveIndexes:
    """All indexes of a JOBDIR's archive, as far as the last checkpoint has noted them."""

    def __init__(
        self, jobdir: Path, lengths: Mapping[str, int], *, is_running: bool = False
    ) -> None:
        """`lengths`: of all outputs. `is_running`: what the crawl wrote since then counts too."""
        self._jobdir = jobdir
        self._lengths = {path: length for path, length in lengths.items() if INDEX in path}
        if is_running:
            for path in jobdir.glob(f"warc/*{INDEX}{OPEN}"):
                with suppress(FileNotFoundError):  # finished at this moment
                    self._lengths[path.relative_to(jobdir).as_posix()] = path.stat().st_size
        self.missing = 0  # finished indexes that were taken away
        self.unread: list[str] = []  # a line about each index that cannot be read
        self.is_open_one_partial = False  # not all of the unfinished index was searched

    def entries_of(self, urls: Iterable[str]) -> dict[str, list[IndexLine]]:
        """Return the index entries of each of these URLs, the latest last."""
        entries_by_url: dict[str, list[IndexLine]] = {url: [] for url in urls}
        keys = {surt(url).encode() for url in entries_by_url}
        self.missing = 0
        self.unread = []
        for name, length in self._lengths.items():
            try:
                for line in self._lines(name, length, keys):
                    self._add_entry(line, entries_by_url)
            except FileNotFoundError:
                self.missing += 1
            except OSError as error:
                self.unread.append(f"{name}: {error.strerror}: its information is missing here")
        for entries in entries_by_url.values():
            entries.sort(key=lambda entry: entry.stamp)
        return entries_by_url

    def _lines(self, name: str, length: int, keys: Collection[bytes]) -> Iterator[bytes]:
        """Yield the lines of an index that have one of these keys.

        An index that is being written is not sorted, and is searched from its beginning.
        """
        final = self._jobdir / name.removesuffix(OPEN)
        if final.exists():
            with regular(final) as file:
                end = _counted_length(file, None)
                for key in keys:
                    yield from sorted_lines(file, end, key + b" ")
            return
        self.is_open_one_partial = self.is_open_one_partial or length > OPEN_INDEX_BYTES
        with regular(Path(f"{final}{OPEN}")) as file:
            for line in lines_between(file, 0, min(length, OPEN_INDEX_BYTES)):
                if line.partition(b" ")[0] in keys:
                    yield line

    def _add_entry(self, line: bytes, entries_by_url: Mapping[str, list[IndexLine]]) -> None:
        """Add the entry of a line to those of its URL, with the name that its file has now."""
        try:
            entry = entry_of(line)
        except BadLine:
            return
        if entry.url not in entries_by_url:
            return
        path = self._jobdir / "warc" / entry.file
        is_unfinished = not path.exists() and Path(f"{path}{OPEN}").exists()
        if is_unfinished:
            entry = entry.in_file(f"{entry.file}{OPEN}")
        entries_by_url[entry.url].append(entry)


def sorted_lines(file: BinaryIO, end: int, start: bytes) -> Iterator[bytes]:
    """Yield the lines of a sorted file that begin with these bytes. `end`: the file's length."""
    seek_line(file, place_of(file, end, start))
    while (line := file.readline(LONGEST_LINE)).startswith(start):
        yield line.rstrip(b"\n")


def archived_record(jobdir: Path, entry: IndexLine, address: str | None = None) -> dict[str, Any]:
    """Return, for JSON, a record's place, and the command that prints it if its file is here.

    `address`: where a store has the file.
    """
    path = jobdir / "warc" / entry.file
    record: dict[str, Any] = {
        "file": str(path),
        "offset": entry.offset,
        "length": entry.length,
        "date": entry.stamp,
        "status": entry.status or None,
        "mime": entry.mime or None,
        "digest": entry.digest or None,
    }
    if path.exists():
        name = shlex.quote(str(path))
        record["command"] = (
            f"tail -c +{entry.offset + 1} {name} | head -c {entry.length} | gzip -dc"
        )
        return record
    record["missing"] = True
    if address:
        record["stored"] = address
    return record


def archived_exchange(jobdir: Path, entry: IndexLine, max_bytes: int = LIMIT) -> Exchange | None:
    """Return the answer of a record, its body up to `max_bytes`; None if it cannot be read."""
    path = jobdir / "warc" / entry.file
    with suppress(OSError, NotWarc, Unusable):
        with RecordReader(
            path, bytes_of(max_bytes), lambda _: None, RecordStart(entry.offset, 0)
        ) as records:
            record = records.next()
        if record is not None and record.place.offset == entry.offset:
            return Answers(max_bytes).read(RecordedCapture(record, record.place))[1]
    return None
