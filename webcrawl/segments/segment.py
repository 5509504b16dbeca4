"""The next segment, cut from the pool: what its hosts have first, as much of each as all can give in about one time.

The file is a seed list (docs/seeds.md), sorted by domain. Each URL brings how it was found: so its page's links have
the depth that they would have had, and redirects their cookies.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Self

from webcrawl.model import Packed
from webcrawl.segments.balance import most_per_host
from webcrawl.segments.pool import Line, Pool
from webcrawl.store.blocks import BlockWriter
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError

HEADER = b"rank,url,path,via,seed,chain\n"
AGE = 1 << 14  # links in a row that count as found at one time
AT_ONCE = 1 << 20  # bytes


@dataclass
class Cut:
    """What a segment took from the pool."""

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

    def __repr__(self) -> str:
        return f"<Sizes of {self.by_count.total()} hosts>"

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
    with ExitStack() as opened:
        rest = opened.enter_context(pool.new_file())
        out = opened.enter_context(SegmentWriter(disk, target))
        _divide(pool, rest, out, found, most, before)
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
    """How all lines of its host begin, and its number."""
    domain, host, number, _ = line.split(b" ", 3)
    return b"%b %b " % (domain, host), int(number, 16)


class SegmentWriter:
    """As a context it gives the file its name when it is whole and synced; else it leaves none."""

    def __init__(self, disk: Disk, target: Path) -> None:
        self._disk, self._target = disk, target
        self._new = target.with_name(f"{target.name}.new")
        disk.unlink(self._new)
        self._fd = disk.create(self._new)
        self._waiting: list[bytes] = [HEADER]
        self._size = self._rows = 0

    def __repr__(self) -> str:
        return f"<SegmentWriter {self._target} {self._rows} rows>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._flush()
                self._disk.sync(self._fd)
        except BaseException:
            kind = BaseException
            raise
        finally:
            os.close(self._fd)
            if kind is not None:
                with suppress(OSError):  # the first error is the one to report
                    self._disk.unlink(self._new)
        if kind is None:
            self._disk.rename(self._new, self._target)

    def add(self, record: Packed) -> None:
        self._rows += 1
        row = _row(self._rows, record)
        self._waiting.append(row)
        self._size += len(row)
        if self._size >= AT_ONCE:
            self._flush()

    def _flush(self) -> None:
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
    new = target.with_name(f"{target.name}.new")
    disk = Disk()
    try:
        disk.unlink(new)
        fd = disk.create(new)
        try:
            with segment.open("rb") if segment is not None else BytesIO(HEADER) as file:
                while data := file.read(AT_ONCE):
                    disk.write(fd, data)
            disk.sync(fd)
        finally:
            os.close(fd)
        disk.rename(new, target)
    except OSError as error:
        with suppress(OSError):
            disk.unlink(new)
        raise StoreError(f"{target}: {error.strerror or error}") from error
