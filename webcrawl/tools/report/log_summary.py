"""Reads crawl.log once: what became of seeds, block pages, and the slowest and largest answers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappush, heapreplace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webcrawl.base.errors import words_of
from webcrawl.base.page_values import has_block_page
from webcrawl.record.statistics import Statistics, count_log_line, host_if_any
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import OURS, fields
from webcrawl.store.lines import LONGEST_LINE
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import SeedError, is_url, list_paths

MAX_EXTREMES = 20  # rows of the slowest answers, and of the largest
# Seeds and blocked URLs that are known by name: a seed takes 165 bytes, a blocked URL 400.
MAX_NAMES = 1_500_000
BATCH_BYTES = 1 << 22  # read at once
Extreme = tuple[int, bytes]  # milliseconds or bytes, and the URL


class SeedRow(NamedTuple):
    """What became of a seed, and of the URLs that were found from it on."""

    url: str
    status: int  # of the seed or, if it redirects, of where its redirects ended; 0: not ended
    redirected: bool
    # URLs that ended, the seed included; robots.txt and probes do not count
    found: int
    fetched: int  # documents among them
    failed: int  # URLs among them with no answer, or with one of 4xx or 5xx
    size: int  # bytes of the documents


class SeedTable:
    """Counts outcomes by seed, in arrays: a million seeds take 165 MB."""

    def __init__(self, max_seeds: int = MAX_NAMES) -> None:
        """Make an empty table with room for `max_seeds` seeds."""
        self._max_seeds = max_seeds
        self._index: dict[bytes, int] = {}  # places in the arrays
        self._status = array("h")
        self._redirects = bytearray()
        self._found = array("I")
        self._fetched = array("I")
        self._failed = array("I")
        self._size = array("Q")
        self.lines_without_room = 0  # of seeds beyond `max_seeds`

    def __len__(self) -> int:
        return len(self._index)

    @property
    def ended(self) -> int:
        """Return how many seeds have an outcome.

        A seed without one is in the table because URLs found from it have ended.
        """
        return len(self) - self._status.count(0)

    def add(
        self, seed: bytes, path: bytes, status: int, size: int, *, is_block_page: bool = False
    ) -> None:
        """Count a line of the log. `path` is the discovery path of its URL.

        A block page is no document, whatever its status.
        """
        place = self._index.get(seed)
        if place is None:
            place = self._add_seed(seed)
            if place is None:
                self.lines_without_room += 1
                return
        self._found[place] += 1
        if 200 <= status < 300 and not is_block_page:
            self._fetched[place] += 1
            self._size[place] += size
        self._failed[place] += _has_failed(status)
        if path == b"-":  # the seed itself
            # An earlier line may have the status of where its redirects ended.
            if not self._redirects[place]:
                self._status[place] = status
        elif not path.strip(b"R"):  # reached by redirects alone
            self._status[place] = status
            self._redirects[place] = 1

    def take_back(self, seed: bytes, status: int) -> None:
        """Uncount a block page with this status: it was not the end of its URL."""
        place = self._index.get(seed)
        if place is not None:
            self._found[place] -= 1
            self._failed[place] -= _has_failed(status)

    def _add_seed(self, seed: bytes) -> int | None:
        """Add a row of zeros, and return its place; None if there is no room for it."""
        place = len(self._index)
        if place >= self._max_seeds:
            return None
        self._index[seed] = place
        for column in (self._status, self._found, self._fetched, self._failed, self._size):
            column.append(0)
        self._redirects.append(0)
        return place

    def outcomes(self) -> Counter[int]:
        """Return the number of seeds by their status."""
        return Counter(self._status)

    def rows(self, max_rows: int) -> list[SeedRow]:
        """Return the first seeds: those that failed, then those without a document, then others."""
        ranked = sorted(self._index.items(), key=self._rank)
        return [self._row(url, place) for url, place in ranked[:max_rows]]

    def _rank(self, item: tuple[bytes, int]) -> tuple[int, int]:
        _, place = item
        if _has_failed(self._status[place]):
            return 0, place
        return (2 if self._fetched[place] else 1), place

    def _row(self, url: bytes, place: int) -> SeedRow:
        """Return the row of the seed at a place of the arrays."""
        return SeedRow(
            url.decode("utf-8", "replace"),
            self._status[place],
            bool(self._redirects[place]),
            self._found[place],
            self._fetched[place],
            self._failed[place],
            self._size[place],
        )

    def seeds_without_line(self, src: str, read: int) -> Iterator[str]:
        """Yield the seeds that have no line in the log, among the first `read` seeds of the lists.

        Yield none if a list is gone, or was a pipe.
        """
        try:
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


def _has_failed(status: int) -> bool:
    """Return whether a URL ended without an answer, or with one of 4xx or 5xx."""
    return status < 0 or status >= 400


@dataclass
class LogFindings:
    """Findings of one pass over the logs of a crawl, or of all drones of a hive.

    A URL that gets a block page is tried again, and each attempt has a line in the log. Only its
    last line is its end: the earlier ones are taken back, and counted in `retried_block_pages`.
    """

    lines: int = 0
    damaged: int = 0  # lines that cannot be read
    missing: int = 0  # bytes that the checkpoint counts and the file does not have
    unopened: dict[Path, str] = field(default_factory=dict)  # why a log cannot be opened
    seeds: SeedTable = field(default_factory=SeedTable)
    slowest: list[Extreme] = field(default_factory=list)
    largest: list[Extreme] = field(default_factory=list)
    min_slowest: int = 0  # milliseconds that an answer must exceed to be among the slowest
    min_largest: int = 0  # bytes that a document needs to be among the largest
    # URLs whose last line so far is a block page: seed and status
    blocked_urls: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    retried_block_pages: Counter[int] = field(default_factory=Counter)  # by status
    max_blocked_urls: int = MAX_NAMES

    def note_line(self, url: bytes, seed: bytes, status: int, *, is_block_page: bool) -> None:
        """Note a line of a URL, and take back its block page before, which was not its end."""
        self._take_back_block_page(url)
        if is_block_page and len(self.blocked_urls) < self.max_blocked_urls:
            self.blocked_urls[url] = seed, status

    def take_back_blocked(self, hosts: Container[str]) -> None:
        """Take back the block pages of these hosts: their URLs wait to be tried again."""
        waiting = [
            url for url in self.blocked_urls if host_if_any(url.decode("utf-8", "replace")) in hosts
        ]
        for url in waiting:
            self._take_back_block_page(url)

    def read(
        self, path: Path, end: int, start: int = 0, statistics: Statistics | None = None
    ) -> int:
        """Add the lines between two places of a log, and return the place behind the last one.

        The lines are added to `statistics` too. Nothing is read of a file that is missing, or that
        cannot be opened: then `unopened` says why.
        """
        place = start
        try:
            file = regular(path)
        except FileNotFoundError:
            return place
        except OSError as error:
            self.unopened[path] = words_of(error)
            return place
        with file:
            file.seek(start)
            for lines, size in _batches(file, end - start):
                place += size
                self.lines += len(lines)
                for line in lines:
                    try:
                        self.add_line(line, statistics)
                    except (ValueError, IndexError, OverflowError):
                        self.damaged += 1
        return place

    def add_line(self, line: bytes, statistics: Statistics | None = None) -> None:
        """Add a line of crawl.log.

        Raise ValueError, IndexError or OverflowError if it is damaged.
        """
        values = fields(line)
        if values is None:
            raise ValueError("not a line of this log")
        _, code, sent, url, path, _, _, _, fetched, _, seed, notes = values
        status = int(code)
        # A dash stands for a field without a value.
        size = 0 if sent == b"-" else int(sent)
        milliseconds = 0 if fetched == b"-" else int(fetched[fetched.index(b"+") + 1 :])
        if statistics is not None:
            count_log_line(statistics, line.decode("ascii").split())
        # A robots.txt or a probe is the crawl's own: no seed has led to it, and it is no document.
        is_of_crawl = path[-1:] in OURS
        if not is_of_crawl:
            # The search in bytes spares most lines the decoding.
            is_block_page = b"wall:" in notes and has_block_page(notes.decode("ascii").split(","))
            self.note_line(url, seed, status, is_block_page=is_block_page)
            self._add_page(url, seed, path, status, size, is_block_page=is_block_page)
        if milliseconds > self.min_slowest:
            self.min_slowest = _keep_largest(self.slowest, (milliseconds, url))

    def _add_page(
        self, url: bytes, seed: bytes, path: bytes, status: int, size: int, *, is_block_page: bool
    ) -> None:
        """Add a line to the table of its seed, and to the largest documents."""
        if seed != b"-":
            self.seeds.add(seed, path, status, size, is_block_page=is_block_page)
        is_document = 200 <= status < 300 and not is_block_page
        if is_document and size >= self.min_largest:
            self._keep_document(size, url)

    def _keep_document(self, size: int, url: bytes) -> None:
        """Add a document to the largest ones. One that was fetched again is there once."""
        for known in self.largest:
            if known[1] == url:
                if size <= known[0]:
                    return
                self.largest.remove(known)
                heapify(self.largest)
                break
        self.min_largest = _keep_largest(self.largest, (size, url))

    def _take_back_block_page(self, url: bytes) -> None:
        """Uncount the last block page of a URL, if its last line is one."""
        block_page = self.blocked_urls.pop(url, None)
        if block_page is not None:
            seed, status = block_page
            self.retried_block_pages[status] += 1
            self.seeds.take_back(seed, status)


def _keep_largest(heap: list[Extreme], extreme: Extreme) -> int:
    """Add an item to the MAX_EXTREMES largest ones, and return the number of the smallest of them.

    Return 0 while there is room for any.
    """
    if len(heap) < MAX_EXTREMES:
        heappush(heap, extreme)
        return 0
    if extreme > heap[0]:
        heapreplace(heap, extreme)
    return heap[0][0]


def _batches(file: BinaryIO, length: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield the whole lines among the next `length` bytes, in batches, and the bytes of each batch.

    Splitting megabytes at a time is twice as fast as reading lines singly.
    """
    left = length
    rest = b""
    while left:
        data = file.read(min(BATCH_BYTES, left))
        if not data:
            return
        left -= len(data)
        size = len(rest) + len(data)
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        if len(rest) > LONGEST_LINE:  # no line of ours
            lines.append(rest[:LONGEST_LINE])
            rest = b""
        yield lines, size - len(rest)
