"""The next segment, cut from the pool: of each host as many URLs as all can give in about one time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from pathlib import Path

from webcrawl.base.model import Packed
from webcrawl.store.disk import Disk, replacing
from webcrawl.store.errors import StoreError
from webcrawl.store.line_blocks import BlockWriter
from webcrawl.tools.segments.pool import Line, Pool

HEADER = b"rank,url,path,via,seed,chain\n"
AGE = 1 << 14  # links in a row that count as found at one time
AT_ONCE = 1 << 20  # bytes


@dataclass
class Cut:
    """Numbers of what a segment took from the pool."""

    urls: int = 0
    hosts: int = 0
    domains: int = 0
    per_host: int = 0  # at most
    left: int = 0  # URLs that wait for a later one


class Sizes:
    """One pass over the pool: how many hosts have so many URLs, and how many have waited since when."""

    def __init__(self, pool: Pool) -> None:
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
        """The number below which the first URL of a host must be, so that about `most` hosts qualify, or more."""
        hosts = 0
        for age in sorted(self.by_age):
            hosts += self.by_age[age]
            if hosts >= most:
                return (age + 1) * AGE
        return 1 << 64


def cut(pool: Pool, disk: Disk, target: Path, most: int, needed: int) -> Cut:
    """Writes the segment to `target`, and has the pool keep the rest. Without URLs there is no file."""
    pool.spill()
    sizes = Sizes(pool)
    found = Cut(per_host=most_per_host(sizes.by_count, most, needed))
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


def _divide(pool: Pool, rest: BlockWriter, out: SegmentWriter, found: Cut, most: int, before: int) -> None:
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
    """The beginning of all lines of its host, and its number."""
    domain, host, number, _ = line.split(b" ", 3)
    return b"%b %b " % (domain, host), int(number, 16)


class SegmentWriter:
    """Rows for the file of this descriptor; `write_waiting` writes the last of them."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk, self._fd = disk, fd
        self._waiting: list[bytes] = [HEADER]
        self._size = self._rows = 0

    def add(self, record: Packed) -> None:
        self._rows += 1
        row = _row(self._rows, record)
        self._waiting.append(row)
        self._size += len(row)
        if self._size >= AT_ONCE:
            self.write_waiting()

    def write_waiting(self) -> None:
        self._disk.write(self._fd, b"".join(self._waiting))
        self._waiting, self._size = [], 0


def _row(rank: int, record: Packed) -> bytes:
    """A seed says nothing of how it was found: it is one again."""
    url, path, via, seed, _, _, chain, _ = record.split(b" ")
    fields = (url, path, via, seed, chain) if path or via else (url, b"", b"", b"", b"")
    return b"%d,%b\n" % (rank, b",".join(_cells(fields)))


def _cells(fields: tuple[bytes, ...]) -> Iterator[bytes]:
    for field in fields:
        yield b'"%b"' % field.replace(b'"', b'""') if b"," in field or b'"' in field else field


def copied(segment: Path | None, target: Path) -> None:
    """The segment under another name, whole or not at all. Without one the file has no rows: an old one must go."""
    disk = Disk()
    try:
        with segment.open("rb") if segment is not None else BytesIO(HEADER) as file, replacing(disk, target) as fd:
            while data := file.read(AT_ONCE):
                disk.write(fd, data)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}") from error


Wait = Callable[[Sequence[float]], float]
TYPICAL = (0.05, 0.1, 0.25, 0.5, 1.0)  # seconds that downloads take; the wait for a host depends on them


def hosts_needed(slots: int, wait: Wait) -> int:
    """Hosts that keep so many downloads under way: each slot needs one that is asked, and others that wait meanwhile.

    `wait` is the policy of politeness. What matters is how many downloads fit into one wait; the least of it counts, at
    which most pages come per second.
    """
    return math.ceil(slots * (1 + min(wait([seconds]) / seconds for seconds in TYPICAL)))


def most_per_host(sizes: Mapping[int, int], most: int, needed: int) -> int:
    """The number of URLs of each host to take, so that no more than `most` are taken; 0: not even one of each.

    `sizes`: how many hosts have so many URLs.
    """
    hosts = sum(sizes.values())
    if not hosts:
        return 0
    counts = sorted(sizes)
    # hosts with at least so many
    at_least = dict(zip(reversed(counts), accumulate(sizes[count] for count in reversed(counts)), strict=True))
    busy = [count for count in counts if at_least[count] >= needed]
    # with too few hosts from the start the rate is theirs, and the best is that all have equally much to do
    cap = busy[-1] if busy else math.ceil(most / hosts)
    return min(cap, _fitting(at_least, counts, most))


def _fitting(at_least: Mapping[int, int], counts: Sequence[int], most: int) -> int:
    """The largest number per host with which no more than `most` are taken."""
    cap = taken = 0
    for count in counts:
        level = (count - cap) * at_least[count]
        if taken + level > most:
            return cap + (most - taken) // at_least[count]
        cap, taken = count, taken + level
    return cap
