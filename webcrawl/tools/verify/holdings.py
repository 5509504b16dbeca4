"""Finds what several drones of a hive have of which each may have only its own: URLs, records, hosts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from webcrawl.base.page_values import walled
from webcrawl.record.archives.archived_answers import captures, is_repeat
from webcrawl.record.warc import unpacking
from webcrawl.record.warc.reader import NotWarc, Records
from webcrawl.store.disk import LONGEST_LINE, lines_of, regular
from webcrawl.store.jobdir.crawl_line import FIELDS, INLINE, LOG, NOTES, PATH, PREREQUISITE, REVISIT, URL, each
from webcrawl.store.jobdir.index_line import ARCHIVE, INDEX, BadLine, index_of
from webcrawl.store.jobdir.index_line import read as read_index_line
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import lengths, open_noted
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN

ROBOTS = b"/robots.txt"
BLOCK = 1 << 14  # bytes of a record that are read, which a metadata record seldom has
Named = Iterator[tuple[bytes, Path, int]]


class Line(Enum):
    """The subject of a line of the log."""

    PAGE = auto()
    PREREQUISITE = auto()  # robots.txt, which the former and the present owner of a host may ask for
    REVISIT = auto()  # a page that was fetched again: its host may have changed hands since
    AWAITED = auto()  # a download inside a page: pages of several drones may await the same
    WALLED = auto()  # an answer of a wall: the URL is asked for again, and its host may have changed hands by then


def lines(crawl: Path, kinds: Container[Line]) -> Named:
    """URLs of the log, of these kinds."""
    path = crawl / LOG
    length = _noted(crawl).get(LOG, 0)
    if not path.exists():  # reported
        return
    for at, fields in each(path, 0, length):
        if len(fields) == FIELDS and _kind(fields) in kinds:
            yield fields[URL], path, at


def _kind(fields: list[bytes]) -> Line:
    if fields[PATH][-1:] == PREREQUISITE:
        return Line.PREREQUISITE
    notes = fields[NOTES].decode(errors="replace").split(",")  # a damaged line was reported with its drone
    if REVISIT in notes:
        return Line.REVISIT
    if INLINE in notes:
        return Line.AWAITED
    return Line.WALLED if walled(notes) else Line.PAGE


def pages(crawl: Path) -> Named:
    """URLs that have ended."""
    return lines(crawl, (Line.PAGE,))


def hosts(crawl: Path) -> Named:
    """Hosts with URLs. A record without any stays behind when its slot moves."""
    with Snapshot(crawl / "state") as snapshot:
        for (name,) in snapshot.rows("SELECT name FROM host WHERE state > 0"):
            yield name.encode(), snapshot.path, 0
        snapshot.check_still()


def archived(crawl: Path) -> Named:
    """The URLs of which the archive holds an answer: by its index, or by its records where it has none."""
    noted = _noted(crawl)
    for name, length in noted.items():
        if name.removesuffix(OPEN).endswith(INDEX):
            yield from _indexed(crawl, name, length)
        elif name.removesuffix(OPEN).endswith(ARCHIVE) and index_of(name) not in noted:
            yield from _recorded(crawl, name, length)


def _indexed(crawl: Path, name: str, length: int) -> Named:
    file = open_noted(crawl, name)
    if file is None:  # reported, or taken away
        return
    with file:
        for at, line in lines_of(file, length):
            with suppress(BadLine):  # reported
                url = read_index_line(line).url.encode()
                if not url.endswith(ROBOTS):
                    yield url, Path(file.name), at


def tried_again(path: Path, at: int) -> bool:
    """True if the archive has this answer as one after which another attempt was made, perhaps by another drone.

    `path` and `at`: the place of the answer's first record, or of its line in an index.
    """
    with suppress(BadLine, NotWarc, OSError):
        if INDEX in path.name:
            with regular(path) as file:
                file.seek(at)
                line = read_index_line(file.readline(LONGEST_LINE))
            archive = open_noted(path.parent, line.file)
            if archive is None:
                return False
            archive.close()
            path, at = Path(archive.name), line.offset
        with Records(path, BLOCK, _ignore, unpacking.Place(at, 0)) as records:
            return any(is_repeat(capture) for capture in islice(captures(records, _ignore), 1))
    return False


def _recorded(crawl: Path, name: str, length: int) -> Named:
    file = open_noted(crawl, name)
    if file is None:
        return
    file.close()
    try:
        with Records(Path(file.name), 0, _ignore) as records:
            for record in records:
                if record.place.offset >= length:
                    break
                url = record.url.encode()
                if record.kind in ("response", "revisit", "resource") and not url.endswith(ROBOTS):
                    yield url, Path(file.name), record.place.offset
    except FileNotFoundError:  # a running crawl has finished it at this moment
        yield from _recorded(crawl, name, length)
    except NotWarc:
        return  # reported


def _ignore(*_: object) -> None:
    """Damage is reported with the drone."""


def _noted(crawl: Path) -> dict[str, int]:
    """The outputs of the last checkpoint, and how many bytes of them count."""
    return JobDir(crawl).read(lengths)


BUCKETS, SHIFT = 64, 58  # by the first six bits of a hash
BATCH = 1 << 18  # hashes in memory before they go to their buckets
CLAIM = np.dtype([("hash", "<u8"), ("drone", "<u2")])
MOST = 1 << 14  # hashes whose names are looked for
MASK = (1 << 64) - 1
Place = tuple[Path, int]  # a file and a byte of it
Hashes = npt.NDArray[np.uint64]
Names = Callable[[], Iterable[tuple[bytes, Path, int]]]  # what a drone has, and where; it may be read twice


@dataclass(frozen=True, slots=True)
class Shared:
    """A name that several drones have, and where each has it first."""

    name: bytes
    places: dict[int, Place]


def shared(drones: Mapping[int, Names]) -> tuple[int, list[Shared]]:
    """The number of names read, each counted once per drone that has it; and those that several have, MOST at most.

    Memory is that of 2 million hashes, and a 64th of all in temporary files, of 10 bytes per name. What hashes find is
    read once more: only names that are equal then count, so that what a running crawl moves meanwhile does not.
    """
    with Claims() as claims:
        for drone, names in drones.items():
            claims.add(drone, names())
        wanted = claims.shared()
        count = claims.count
    if not wanted:
        return count, []
    found: dict[bytes, dict[int, Place]] = {}
    for drone, names in drones.items():
        for name, path, at in names():
            if hash(name) & MASK in wanted:
                found.setdefault(name, {}).setdefault(drone, (path, at))
    return count, [Shared(name, places) for name, places in found.items() if len(places) > 1]


class Claims:
    """Pairs of drone and hash in temporary files, one for each bucket."""

    def __init__(self) -> None:
        self.count = 0
        with ExitStack() as opened:
            self._files: list[IO[bytes]] = [opened.enter_context(TemporaryFile()) for _ in range(BUCKETS)]
            self._closing = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def add(self, drone: int, names: Iterable[tuple[bytes, Path, int]]) -> None:
        """All names of a drone."""
        waiting = array("Q")
        for name, _, _ in names:
            waiting.append(hash(name) & MASK)
            if len(waiting) >= BATCH:
                self._spread(drone, waiting)
        self._spread(drone, waiting)

    def _spread(self, drone: int, waiting: array[int]) -> None:
        hashes = np.unique(np.frombuffer(waiting, np.uint64))
        del waiting[:]  # not before its buffer is free
        claims = np.empty(len(hashes), CLAIM)
        claims["hash"], claims["drone"] = hashes, drone
        ends = np.searchsorted(hashes >> np.uint64(SHIFT), np.arange(BUCKETS), side="right")
        begin = 0
        for file, end in zip(self._files, ends.tolist(), strict=True):
            file.write(claims[begin:end].tobytes())
            begin = end

    def shared(self) -> set[int]:
        """The hashes that several drones have, MOST at most; counts all of them."""
        found: set[int] = set()
        for file in self._files:
            file.seek(0)
            claims = np.frombuffer(file.read(), CLAIM)
            order = np.argsort(claims["hash"], kind="stable")  # drones were added one after the other
            hashes: Hashes = claims["hash"][order]
            drones = claims["drone"][order]
            again = hashes[1:] == hashes[:-1]
            others = drones[1:] != drones[:-1]
            self.count += len(hashes) - int(np.count_nonzero(again & ~others))
            found.update(hashes[1:][again & others][: MOST - len(found)].tolist())
        return found
