"""URLs that were found and wait for a segment, and the next segment, which is cut from them.

The pool is sorted by domain and host, and of each host in the order of finding. A segment takes of
each host as many URLs as all hosts can give in about one time.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from pathlib import Path

from webcrawl.base.model import Packed
from webcrawl.crawl.segments import POOL as META
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.disk import Disk, replacing
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.lines import BlockReader, BlockWriter

MEMORY = 64 << 20  # bytes of lines that wait to be sorted
OBJECT = 41  # bytes that Python needs for each, beside the line
MOST_FILES = 64  # that are merged at once
Line = bytes
"""Domain, host with port, number, packed link; a blank after each of the first three, and the end of a line."""


class LinkPool(Part):
    """The links that wait for a segment. A checkpoint names its files, which do not change."""

    def __init__(
        self, db: CrawlDB, folder: Path, domain_of: Callable[[str], str], memory: int = MEMORY
    ) -> None:
        self._db = db
        self._folder = folder
        self._domain_of = domain_of
        self._memory = memory
        state = json.loads(db.get(META) or b'{"files": [], "next": 0, "last": 0}')
        # of each file its name, bytes and lines
        self._files: list[tuple[str, int, int]] = [tuple(one) for one in state["files"]]
        self._next = state["next"]  # number of the next link
        self._last = state["last"]  # number of the last file
        self._lines: list[Line] = []
        self._size = 0
        self._sites: dict[bytes, bytes] = {}
        self._make_folder()
        self._check_files()
        db.join(self)

    def __len__(self) -> int:
        return sum(lines for _, _, lines in self._files) + len(self._lines)

    def _make_folder(self) -> None:
        """Make the folder, or remove from it what an interrupted attempt left."""
        named = {name for name, _, _ in self._files}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            pool = [path for path in self._folder.iterdir() if path.name.startswith("pool-")]
            for path in pool:
                if path.name not in named:
                    self._db.disk.unlink(path)
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror or error}") from error

    def _check_files(self) -> None:
        """Raise DamagedFile if a file is not as the last checkpoint left it."""
        for name, size, _ in self._files:
            path = self._folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise DamagedFile(
                    path,
                    0,
                    f"missing, or does not have {size} bytes: it holds the URLs that "
                    "wait for a segment",
                )

    def add(self, records: Sequence[Packed]) -> None:
        """Add links that are new."""
        for record in records:
            host = record.split(b"/", 3)[2]
            site = self._sites.get(host) or self._site(host)
            line = b"%b%016x %b\n" % (site, self._next, record)
            self._next += 1
            self._lines.append(line)
            self._size += len(line) + OBJECT
        if self._size >= self._memory:
            self.spill()

    def _site(self, host: bytes) -> bytes:
        """Return the beginning of the lines of a host."""
        if len(self._sites) > 100_000:
            self._sites.clear()
        name = host.rpartition(b"@")[2].decode()
        site = f"{self._domain_of(f'http://{name}/')} {name} ".encode()
        self._sites[host] = site
        return site

    def spill(self) -> None:
        """Write what is in memory."""
        if not self._lines:
            return
        self._lines.sort()
        with self.new_file() as file:
            file.write(self._lines)
        self._files.append(file.named)
        self._lines = []
        self._size = 0
        if len(self._files) >= MOST_FILES:
            with self.new_file() as file:
                for lines in self.sorted():
                    file.write(lines)
            self.replace([file.named])

    def new_file(self) -> BlockWriter:
        """Return a new file for `replace`. Until then, no checkpoint names it."""
        self._last += 1
        return BlockWriter(self._db.disk, self._folder / f"pool-{self._last:08d}")

    def replace(self, files: Sequence[tuple[str, int, int]]) -> None:
        """Have these files hold what waits from now on; empty ones are not kept.

        The others go with the next checkpoint.
        """
        # The last checkpoint names them until the next one is taken.
        for name, _, _ in self._files:
            self._db.discard(self._folder / name)
        for name, _, lines in files:
            if not lines:
                self._db.discard(self._folder / name)
        self._files = [file for file in files if file[2]]

    def sorted(self) -> Iterator[list[Line]]:
        """Yield all lines in their order, some thousand at a time; call `spill` before."""
        with ExitStack() as opened:
            readers = [
                opened.enter_context(BlockReader(self._folder / name)) for name, _, _ in self._files
            ]
            yield from _merged(readers)

    def save(self) -> None:
        try:
            self.spill()
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror or error}") from error
        state = {"files": self._files, "next": self._next, "last": self._last}
        self._db.set(META, json.dumps(state).encode())


def _merged(readers: Sequence[Iterator[list[Line]]]) -> Iterator[list[Line]]:
    """Sort blocks up to the earliest end at hand together: sorting merges what is sorted, in C.

    Half a million lines of ten files take 0.11 s of CPU, and 0.29 s by `heapq.merge`.
    """
    files = [_LinesAtHand(reader) for reader in readers]
    while True:
        for file in files:
            file.fill()
        ends = [file.lines[-1] for file in files if file.lines]
        if not ends:
            return
        # No file has a line below this one that is not at hand.
        bound = min(ends)
        found: list[Line] = []
        for file in files:
            found += file.take_up_to(bound)
        found.sort()
        yield found


class _LinesAtHand:
    """The lines of one sorted file that were read, and are not merged yet."""

    def __init__(self, reader: Iterator[list[Line]]) -> None:
        self.lines: list[Line] = []
        self._reader = reader
        self._has_ended = False

    def fill(self) -> None:
        """Have a line at hand, unless the file has ended; a block may be empty."""
        while not (self.lines or self._has_ended):
            block = next(self._reader, None)
            self._has_ended = block is None
            self.lines = block or []

    def take_up_to(self, bound: Line) -> list[Line]:
        """Remove and return the lines that are not above this one."""
        end = bisect_right(self.lines, bound)
        taken = self.lines[:end]
        self.lines = self.lines[end:]
        return taken


HEADER = b"rank,url,path,via,seed,chain\n"
AGE = 1 << 14  # links in a row that count as found at one time
AT_ONCE = 1 << 20  # bytes


@dataclass
class CutSegment:
    """Numbers of what a segment took from the pool."""

    urls: int = 0
    hosts: int = 0
    domains: int = 0
    per_host: int = 0  # at most
    left: int = 0  # URLs that wait for a later one


class PoolSizes:
    """One pass over the pool: how many hosts have so many URLs, and how long these have waited."""

    def __init__(self, pool: LinkPool) -> None:
        self.by_count: Counter[int] = Counter()
        self.by_age: Counter[int] = Counter()
        site, count, first = b"", 0, 0
        for lines in pool.sorted():
            for line in lines:
                if line.startswith(site) and site:
                    count += 1
                    continue
                self._host(count, first)
                site, number = _site(line)
                count, first = 1, number
        self._host(count, first)

    def _host(self, count: int, first: int) -> None:
        if count:
            self.by_count[count] += 1
            self.by_age[first // AGE] += 1

    def oldest(self, most: int) -> int:
        """Return the number that a host's first URL must be below, for `most` hosts to qualify."""
        hosts = 0
        for age in sorted(self.by_age):
            hosts += self.by_age[age]
            if hosts >= most:
                return (age + 1) * AGE
        return 1 << 64


def cut(pool: LinkPool, disk: Disk, target: Path, most: int, needed: int) -> CutSegment:
    """Write the segment to `target`, and have the pool keep the rest.

    Without URLs there is no file.
    """
    pool.spill()
    sizes = PoolSizes(pool)
    found = CutSegment(per_host=most_per_host(sizes.by_count, most, needed))
    if not len(pool):
        return found
    # more hosts than a segment has URLs: those that have waited longest have their turn
    before = 1 << 64 if found.per_host else sizes.oldest(most)
    found.per_host = found.per_host or 1
    with pool.new_file() as rest, replacing(disk, target) as fd:
        out = SegmentWriter(disk, fd)
        _divide(pool, rest, out, found, most, before)
        out.write_waiting()
    pool.replace([rest.named])
    found.left = len(pool)
    return found


def _divide(
    pool: LinkPool, rest: BlockWriter, out: SegmentWriter, found: CutSegment, most: int, before: int
) -> None:
    site, domain, taken, room = b"", b"", 0, 0
    for lines in pool.sorted():
        kept: list[Line] = []
        for line in lines:
            if not (site and line.startswith(site)):
                site, number = _site(line)
                taken, room = 0, min(found.per_host, most - found.urls) if number < before else 0
                found.hosts += bool(room)
                if room and domain != (domain := site.split(b" ", 1)[0]):
                    found.domains += 1
            if taken < room:
                taken += 1
                found.urls += 1
                out.add(line[len(site) + 17 : -1])
            else:
                kept.append(line)
        rest.write(kept)


def _site(line: Line) -> tuple[bytes, int]:
    """Return the beginning of all lines of the link's host, and its number."""
    domain, host, number, _ = line.split(b" ", 3)
    return b"%b %b " % (domain, host), int(number, 16)


class SegmentWriter:
    """Rows for the file of this descriptor; `write_waiting` writes the last of them."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self._fd = fd
        self._waiting: list[bytes] = [HEADER]
        self._size = 0
        self._rows = 0

    def add(self, record: Packed) -> None:
        self._rows += 1
        row = _row(self._rows, record)
        self._waiting.append(row)
        self._size += len(row)
        if self._size >= AT_ONCE:
            self.write_waiting()

    def write_waiting(self) -> None:
        self._disk.write(self._fd, b"".join(self._waiting))
        self._waiting = []
        self._size = 0


def _row(rank: int, record: Packed) -> bytes:
    """Return a row of the segment. A seed says nothing of how it was found: it is one again."""
    url, path, via, seed, _, _, chain, _ = record.split(b" ")
    fields = (url, path, via, seed, chain) if path or via else (url, b"", b"", b"", b"")
    return b"%d,%b\n" % (rank, b",".join(_cells(fields)))


def _cells(fields: tuple[bytes, ...]) -> Iterator[bytes]:
    for field in fields:
        yield b'"%b"' % field.replace(b'"', b'""') if b"," in field or b'"' in field else field


def copied(segment: Path | None, target: Path) -> None:
    """Copy the segment to another name, whole or not at all.

    Without one the file has no rows: an old one must go.
    """
    disk = Disk()
    try:
        with (
            segment.open("rb") if segment is not None else BytesIO(HEADER) as file,
            replacing(disk, target) as fd,
        ):
            while data := file.read(AT_ONCE):
                disk.write(fd, data)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}") from error


Wait = Callable[[Sequence[float]], float]
# seconds that downloads take; the wait for a host depends on them
TYPICAL = (0.05, 0.1, 0.25, 0.5, 1.0)


def hosts_needed(slots: int, wait: Wait) -> int:
    """Return how many hosts keep so many downloads under way.

    `wait` is the policy of politeness. What matters is how many downloads fit into one wait; the
    least of it counts, at which most pages come per second.
    """
    return math.ceil(slots * (1 + min(wait([seconds]) / seconds for seconds in TYPICAL)))


def most_per_host(sizes: Mapping[int, int], most: int, needed: int) -> int:
    """Return how many URLs to take of each host, for `most` in all; 0: not even one of each.

    `sizes`: how many hosts have so many URLs.
    """
    hosts = sum(sizes.values())
    if not hosts:
        return 0
    counts = sorted(sizes)
    # hosts with at least so many
    at_least = dict(
        zip(reversed(counts), accumulate(sizes[count] for count in reversed(counts)), strict=True)
    )
    busy = [count for count in counts if at_least[count] >= needed]
    # with too few hosts from the start the rate is theirs, and the best is that all have equally
    # much to do
    cap = busy[-1] if busy else math.ceil(most / hosts)
    return min(cap, _fitting(at_least, counts, most))


def _fitting(at_least: Mapping[int, int], counts: Sequence[int], most: int) -> int:
    """Return the largest number per host with which no more than `most` are taken."""
    cap = taken = 0
    for count in counts:
        level = (count - cap) * at_least[count]
        if taken + level > most:
            return cap + (most - taken) // at_least[count]
        cap, taken = count, taken + level
    return cap
