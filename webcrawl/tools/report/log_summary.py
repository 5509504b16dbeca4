"""One pass over crawl.log: seeds, URLs behind walls, the slowest and largest answers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webcrawl.base.page_values import walled
from webcrawl.record.statistics import Statistics, count_log_line, host_if_any
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import OURS, fields
from webcrawl.store.lines import LONGEST_LINE
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import SeedError, is_url, list_paths

MOST = 20
ROOM = 1_500_000  # seeds known by name: 165 bytes each; and URLs that a wall answered last: 400
UNKNOWN = 0  # status of a seed that has no line in the log
BATCH = 1 << 22  # bytes read at once
Extreme = tuple[int, bytes]  # milliseconds or bytes, and the URL


class SeedRow(NamedTuple):
    """`status` is that of the seed itself or, if it redirects, of where its redirects ended."""

    url: str
    status: int
    redirected: bool
    # URLs that ended and were found from this seed on, itself included; robots.txt and probes do
    # not count
    found: int
    fetched: int  # of these, documents
    failed: int  # and those without an answer, or with one of 4xx or 5xx
    size: int  # bytes of the documents


class SeedTable:
    """Counts by seed, in arrays: a million seeds take 165 MB."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._index: dict[bytes, int] = {}
        self._status = array("h")
        self._redirects = bytearray()
        self._found = array("I")
        self._fetched = array("I")
        self._failed = array("I")
        self._size = array("Q")
        self.more = 0  # lines of seeds for which there was no room

    def __len__(self) -> int:
        return len(self._index)

    @property
    def ended(self) -> int:
        """Return how many seeds have an outcome; of others only URLs found from them do."""
        return len(self) - self._status.count(0)

    def add(self, seed: bytes, path: bytes, status: int, size: int, *, wall: bool = False) -> None:
        """Add a line of the log; `path` is its discovery path.

        What a wall has answered is no document.
        """
        at = self._index.get(seed)
        if at is None:
            at = self._new(seed)
            if at is None:
                self.more += 1
                return
        self._found[at] += 1
        if 200 <= status < 300 and not wall:
            self._fetched[at] += 1
            self._size[at] += size
        self._failed[at] += _failed(status)
        if path == b"-":
            if not self._redirects[at]:
                self._status[at] = status
        elif not path.strip(b"R"):
            self._status[at] = status
            self._redirects[at] = 1

    def take_back(self, seed: bytes, status: int) -> None:
        """Such an answer of a wall was not the end of its URL."""
        if (at := self._index.get(seed)) is not None:
            self._found[at] -= 1
            self._failed[at] -= _failed(status)

    def _new(self, seed: bytes) -> int | None:
        at = len(self._index)
        if at >= self._room:
            return None
        self._index[seed] = at
        for column in (self._status, self._found, self._fetched, self._failed, self._size):
            column.append(0)
        self._redirects.append(0)
        return at

    def outcomes(self) -> Counter[int]:
        """Return the number of seeds by their status."""
        return Counter(self._status)

    def rows(self, most: int) -> list[SeedRow]:
        """Return so many seeds: those that failed, then those that gave nothing, then others."""
        return [
            self._row(url, at) for url, at in sorted(self._index.items(), key=self._rank)[:most]
        ]

    def _rank(self, item: tuple[bytes, int]) -> tuple[int, int]:
        _, at = item
        if _failed(self._status[at]):
            return 0, at
        return (2 if self._fetched[at] else 1), at

    def _row(self, url: bytes, at: int) -> SeedRow:
        return SeedRow(
            url.decode("utf-8", "replace"),
            self._status[at],
            bool(self._redirects[at]),
            self._found[at],
            self._fetched[at],
            self._failed[at],
            self._size[at],
        )

    def missing(self, src: str, read: int) -> Iterator[str]:
        """Yield the seeds among the first `read` without a line; none if the lists are gone."""
        try:
            # gone, or a pipe
            if not all(is_url(path) or Path(path).is_file() for path in list_paths(src)):
                return
            seeds = Seeds(src, read or None)
        except (SeedError, OSError):
            return
        try:
            for _ in range(read):
                url = next(seeds).url
                if url.encode() not in self._index:
                    yield url
        except (SeedError, OSError, StopIteration):
            return
        finally:
            seeds.close()


def _failed(status: int) -> bool:
    return status < 0 or status >= 400


@dataclass
class LogFindings:
    """Findings of one pass over the logs of a crawl, or of all drones of a hive."""

    lines: int = 0
    damaged: int = 0
    missing: int = 0  # bytes that the checkpoint counts and the file does not have
    seeds: SeedTable = field(default_factory=SeedTable)
    slowest: list[Extreme] = field(default_factory=list)
    largest: list[Extreme] = field(default_factory=list)
    slow: int = 0  # what an answer needs at least to be among them
    large: int = 0
    # URLs that a wall answered last: seed, status
    walls: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    # answers of walls that were not the end of their URLs
    walled: Counter[int] = field(default_factory=Counter)
    room: int = ROOM  # of those URLs

    def ended(self, url: bytes, seed: bytes, status: int, *, wall: bool) -> None:
        """Note a line of a URL: if a wall has answered it before, that was not its end."""
        self._go_on(url)
        if wall and len(self.walls) < self.room:
            self.walls[url] = seed, status

    def leave_out(self, hosts: Container[str]) -> None:
        """Leave out the URLs of these hosts, which wait for their walls to open."""
        for url in [
            url for url in self.walls if host_if_any(url.decode("utf-8", "replace")) in hosts
        ]:
            self._go_on(url)

    def read(
        self, path: Path, end: int, start: int = 0, statistics: Statistics | None = None
    ) -> int:
        """Add the lines between two places of a log, and return the place behind the last of them.

        `statistics` gets every line too, if it has heard of none.
        """
        place = start
        try:
            file = regular(path)
        except OSError:
            return place
        with file:
            file.seek(start)
            for lines, size in _batches(file, end - start):
                place += size
                self.lines += len(lines)
                for line in lines:
                    try:
                        self.take(line, statistics)
                    except (ValueError, IndexError, OverflowError):
                        self.damaged += 1
        return place

    def take(self, line: bytes, statistics: Statistics | None = None) -> None:
        """Add a line of crawl.log; ValueError, IndexError or OverflowError if it is damaged."""
        found = fields(line)
        if found is None:
            raise ValueError("not a line of this log")
        _, code, sent, url, path, _, _, _, fetched, _, seed, notes = found
        status = int(code)
        # a dash: the field has no value
        size = 0 if sent == b"-" else int(sent)
        milliseconds = 0 if fetched == b"-" else int(fetched[fetched.index(b"+") + 1 :])
        if statistics is not None:
            count_log_line(statistics, line.decode("ascii").split())
        # A robots.txt or a probe is the crawl's own: no seed has led to it, and it is no document.
        is_of_crawl = path[-1:] in OURS
        if not is_of_crawl:
            wall = b"wall:" in notes and walled(notes.decode("ascii").split(","))
            self.ended(url, seed, status, wall=wall)
            self._add_page(url, seed, path, status, size, wall=wall)
        if milliseconds > self.slow:
            self.slow = _keep(self.slowest, (milliseconds, url))

    def _add_page(
        self, url: bytes, seed: bytes, path: bytes, status: int, size: int, *, wall: bool
    ) -> None:
        if seed != b"-":
            self.seeds.add(seed, path, status, size, wall=wall)
        is_document = 200 <= status < 300 and not wall
        if is_document and size >= self.large:
            self.large = _keep(self.largest, (size, url))

    def _go_on(self, url: bytes) -> None:
        if (before := self.walls.pop(url, None)) is not None:
            self.walled[before[1]] += 1
            self.seeds.take_back(*before)


def _keep(heap: list[Extreme], one: Extreme) -> int:
    """Keep the largest, and return from which number on one belongs to them."""
    if len(heap) < MOST:
        heappush(heap, one)
        return 0
    if one > heap[0]:
        heapreplace(heap, one)
    return heap[0][0]


def _batches(file: BinaryIO, length: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield whole lines, some megabytes at a time, and their bytes: twice as fast as singly."""
    left = length
    rest = b""
    while left and (data := file.read(min(BATCH, left))):
        left -= len(data)
        size = len(rest) + len(data)
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        if len(rest) > LONGEST_LINE:  # no line of ours
            lines.append(rest[:LONGEST_LINE])
            rest = b""
        yield lines, size - len(rest)
