"""Checks a hive: each drone as a crawl, then what they say of each other (docs/verify-move-upgrade.md)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import islice
from pathlib import Path

from webcrawl.base.page_values import walled
from webcrawl.base.url_text import is_view, visible
from webcrawl.crawl.hive.drone_check import (
    SavedDrone,
    check_channels,
    check_identities,
    check_owners,
    check_strangers,
    owner_of,
    saved_drone_of,
)
from webcrawl.record.archived_answers import captures, is_repeat
from webcrawl.record.warc import unpacked_stream
from webcrawl.record.warc.reader import NotWarc, RecordReader, ignore_loss
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawl_line import (
    FIELDS,
    INLINE,
    LOG,
    NOTES,
    PATH,
    PREREQUISITE,
    REVISIT,
    URL,
    each,
)
from webcrawl.store.jobdir.crawls import STATE, crawls_of
from webcrawl.store.jobdir.index_line import ARCHIVE, INDEX, BadLine, index_of
from webcrawl.store.jobdir.index_line import read as read_index_line
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl
from webcrawl.store.jobdir.outputs import lengths, open_noted
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import LONGEST_LINE, lines_of
from webcrawl.store.output import OPEN
from webcrawl.tools.verify_crawl import ABSENT, guarded, verify

TOLD = 20  # places of each kind; of the others only how many there are
Crawls = Mapping[int, Path]  # by position
# a name, and where a drone has it: a file and a byte of it
Named = Iterator[tuple[bytes, Path, int]]
Has = Callable[[Path], Named]  # what a drone has


def verify_hive(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Check all drones as `verify` checks one crawl; the figures are sums.

    Raise StoreError if the check is impossible.
    """
    crawls: dict[int, Path] = {}
    for number, crawl in enumerate(crawls_of(jobdir)):
        mine = Counter[str]()
        try:
            yield from verify(crawl, mine)
        except NoCrawl:
            yield DamagedFile(crawl / STATE, 0, "the state of this drone of the hive is missing")
            continue
        crawls[number] = crawl
        found.update({_named(name, crawl): many for name, many in mine.items()})
    found["drones"] = len(crawls)
    yield from guarded(_members, [*crawls.values()])
    yield from guarded(_once, crawls, found, "pages", pages, "is also in the log of {}")
    yield from guarded(_archives, crawls, found)
    yield from guarded(_once, crawls, found, "hosts in use", hosts, "also has URLs in {}")
    yield from stats_file.check(jobdir)


def _members(crawls: Collection[Path]) -> Iterator[DamagedFile]:
    """Check what the drones say of each other, and whether each has kept to its own hosts."""
    before = _standings(crawls)
    after = _standings(crawls)
    yield from check_identities(after)
    yield from check_strangers([crawl for crawl in crawls if crawl not in after], after.values())
    yield from check_channels(_by_drone(before), _by_drone(after))
    owner = owner_of(after.values())
    if owner is None:
        return
    for crawl, standing in after.items():
        urls = lines(
            crawl, (LogSubject.PAGE, LogSubject.PREREQUISITE, LogSubject.REVISIT, LogSubject.WALLED)
        )
        yield from _first(check_owners(standing.drone, urls, owner))


def _standings(crawls: Collection[Path]) -> dict[Path, SavedDrone]:
    """Return what the crawls that belong to a hive say of it."""
    found = {}
    for crawl in crawls:
        standing = saved_drone_of(crawl)
        if standing is not None:
            found[crawl] = standing
    return found


def _by_drone(standings: Mapping[Path, SavedDrone]) -> dict[int, SavedDrone]:
    return {standing.drone: standing for standing in standings.values()}


def _first(damages: Iterator[DamagedFile]) -> Iterator[DamagedFile]:
    """Yield some of the damages, and how many more there are."""
    path = None
    for damage in islice(damages, TOLD):
        path = damage.path
        yield damage
    more = sum(1 for _ in damages)
    if more and path is not None:
        yield DamagedFile(path, 0, f"{more} more of this kind")


def _named(figure: str, crawl: Path) -> str:
    """Return a name as it is in the hive: names of absent files are below the drone's folder."""
    if not figure.startswith(ABSENT):
        return figure
    return f"{ABSENT}{crawl.name}/{figure.removeprefix(ABSENT)}"


def _once(
    crawls: Crawls, found: Counter[str], figure: str, has: Has, why: str
) -> Iterator[DamagedFile]:
    names, twice = shared({number: partial(has, crawl) for number, crawl in crawls.items()})
    found[figure] = names
    yield from _first(_told(crawls, twice, why))


def _archives(crawls: Crawls, found: Counter[str]) -> Iterator[DamagedFile]:
    """Check that no two drones have archived the same URL for good.

    Several drones may ask for a robots.txt, and for what pages await; only the log says which
    URLs are such.

    A host may change hands between two attempts at a URL, those that a wall answers too, and
    between two fetches of a page.
    """
    names, twice = shared({number: partial(archived, crawl) for number, crawl in crawls.items()})
    found["archived"] = names
    by_log = {visible(one.name.decode()).encode(): one for one in twice}
    if by_log:
        for crawl in crawls.values():
            for name, _, _ in lines(
                crawl,
                (
                    LogSubject.PREREQUISITE,
                    LogSubject.AWAITED,
                    LogSubject.REVISIT,
                    LogSubject.WALLED,
                ),
            ):
                by_log.pop(name, None)
    final = [
        one
        for one in by_log.values()
        if sum(not tried_again(*place) for place in one.places.values()) > 1
    ]
    yield from _first(_told(crawls, final, "is also in the archive of {}"))


def _told(crawls: Crawls, twice: Iterable[SharedName], why: str) -> Iterator[DamagedFile]:
    for one in twice:
        (first, _), *others = one.places.items()
        for _, (path, at) in others:
            yield DamagedFile(
                path, at, f"{one.name.decode(errors='replace')} {why.format(crawls[first].name)}"
            )


# -- what several drones have of which each may have only its own: URLs, records, hosts

ROBOTS = b"/robots.txt"
BLOCK = 1 << 14  # bytes of a record that are read, which a metadata record seldom has


class LogSubject(Enum):
    """The subject of a line of the log."""

    PAGE = auto()
    # robots.txt, which the former and the present owner of a host may ask for
    PREREQUISITE = auto()
    REVISIT = auto()  # a page that was fetched again: its host may have changed hands since
    AWAITED = auto()  # a download inside a page: pages of several drones may await the same
    # an answer of a wall: the URL is asked for again, and its host may have changed hands by then
    WALLED = auto()


def lines(crawl: Path, kinds: Container[LogSubject]) -> Named:
    """URLs of the log, of these kinds."""
    path = crawl / LOG
    length = _noted(crawl).get(LOG, 0)
    if not path.exists():  # reported
        return
    for at, fields in each(path, 0, length):
        if len(fields) == FIELDS and _kind(fields) in kinds:
            yield fields[URL], path, at


def _kind(fields: list[bytes]) -> LogSubject:
    if fields[PATH][-1:] == PREREQUISITE:
        return LogSubject.PREREQUISITE
    # a damaged line was reported with its drone
    notes = fields[NOTES].decode(errors="replace").split(",")
    if REVISIT in notes:
        return LogSubject.REVISIT
    if INLINE in notes:
        return LogSubject.AWAITED
    return LogSubject.WALLED if walled(notes) else LogSubject.PAGE


def pages(crawl: Path) -> Named:
    """URLs that have ended."""
    return lines(crawl, (LogSubject.PAGE,))


def hosts(crawl: Path) -> Named:
    """Yield hosts with URLs. A record without any stays behind when its slot moves."""
    with Snapshot(crawl / "state") as snapshot:
        for (name,) in snapshot.rows("SELECT name FROM host WHERE state > 0"):
            yield name.encode(), snapshot.path, 0
        snapshot.check_still()


def archived(crawl: Path) -> Named:
    """Yield the URLs of which the archive has an answer: by its index, or else its records."""
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
    """Return whether the archive has this answer as one that was not the last attempt.

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
        with RecordReader(path, BLOCK, ignore_loss, unpacked_stream.RecordStart(at, 0)) as records:
            return any(is_repeat(capture) for capture in islice(captures(records, ignore_loss), 1))
    return False


def _recorded(crawl: Path, name: str, length: int) -> Named:
    file = open_noted(crawl, name)
    if file is None:
        return
    file.close()
    try:
        with RecordReader(Path(file.name), 0, ignore_loss) as records:
            for record in records:
                if record.place.offset >= length:
                    break
                url = record.url.encode()
                is_answer = record.kind in ("response", "revisit", "resource")
                if is_answer and not url.endswith(ROBOTS) and not is_view(record.url):
                    yield url, Path(file.name), record.place.offset
    except FileNotFoundError:  # a running crawl has finished it at this moment
        yield from _recorded(crawl, name, length)
    except NotWarc:
        return  # reported


def _noted(crawl: Path) -> dict[str, int]:
    """Return the outputs of the last checkpoint, and how many bytes of them count."""
    return JobDir(crawl).read(lengths)


MOST = 1 << 14  # hashes whose names are looked for
Place = tuple[Path, int]  # a file and a byte of it
Names = Callable[[], Named]  # what a drone has; it may be read twice
COUNT = "SELECT coalesce(sum(drones), 0) FROM (SELECT count(DISTINCT drone) AS drones FROM claim GROUP BY hash)"
SHARED = "SELECT hash FROM claim GROUP BY hash HAVING min(drone) < max(drone) LIMIT ?"


@dataclass(frozen=True, slots=True)
class SharedName:
    """A name that several drones have, and where each has it first."""

    name: bytes
    places: dict[int, Place]


def shared(drones: Mapping[int, Names]) -> tuple[int, list[SharedName]]:
    """Return the number of names, once per drone that has it; and the first that several have.

    SQLite sorts their hashes, on disk. What hashes find is read once more: only names that are
    equal then count, so that what a running crawl moves meanwhile does not.
    """
    count, wanted = _shared_hashes(drones)
    if not wanted:
        return count, []
    found: dict[bytes, dict[int, Place]] = {}
    for drone, names in drones.items():
        for name, path, at in names():
            if hash(name) in wanted:
                found.setdefault(name, {}).setdefault(drone, (path, at))
    return count, [SharedName(name, places) for name, places in found.items() if len(places) > 1]


def _shared_hashes(drones: Mapping[int, Names]) -> tuple[int, set[int]]:
    """Return the number of distinct names of each drone, summed, and up to MOST hashes that more
    than one drone has.
    """
    try:
        with closing(sqlite3.connect("")) as db:  # a file that SQLite removes
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("CREATE TABLE claim (hash INTEGER, drone INTEGER)")
            for drone, names in drones.items():
                db.executemany(
                    "INSERT INTO claim VALUES (?, ?)",
                    ((hash(name), drone) for name, _, _ in names()),
                )
            ((count,),) = db.execute(COUNT)
            wanted = {number for (number,) in db.execute(SHARED, (MOST,))}
    except sqlite3.Error as error:
        raise StoreError(f"a temporary file of SQLite cannot be written: {error}") from error
    return count, wanted
