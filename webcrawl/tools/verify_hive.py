"""Checks a hive (docs/verify-move-upgrade.md): each drone as a crawl, then the drones together.

No two drones may have the same URL, record or host: `_check_in_one_drone_only` compares the logs of all drones,
and then the hosts of their queues. `_check_members` compares each drone's log with the map of the
hive, which says whose hosts these are.
"""

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

from webcrawl.base.page_values import has_block_page
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
from webcrawl.record.since.index import GONE_PREFIX
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

MAX_PLACES = 20  # of damage of one kind; the rest is counted
Crawls = Mapping[int, Path]  # by their positions in the hive
# Names of a drone (URLs or hosts), and the place of each: a file and a byte of it.
PlacedNames = Iterator[tuple[bytes, Path, int]]
NamesOfCrawl = Callable[[Path], PlacedNames]


def verify_hive(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damaged place of a hive. Afterwards `found` has the sums of the drones' figures.

    Raise StoreError if the check is impossible.
    """
    crawls: dict[int, Path] = {}
    for number, crawl in enumerate(crawls_of(jobdir)):
        figures = Counter[str]()
        try:
            yield from verify(crawl, figures)
        except NoCrawl:
            yield DamagedFile(crawl / STATE, 0, "the state of this drone of the hive is missing")
            continue
        crawls[number] = crawl
        _add_figures(figures, crawl, found)
    found["drones"] = len(crawls)
    yield from guarded(_check_members, [*crawls.values()])
    yield from guarded(
        _check_in_one_drone_only, crawls, found, "pages", pages, "is also in the log of {}"
    )
    yield from guarded(_check_archives, crawls, found)
    yield from guarded(
        _check_in_one_drone_only, crawls, found, "hosts in use", hosts, "also has URLs in {}"
    )
    yield from stats_file.check(jobdir)


def _check_members(crawls: Collection[Path]) -> Iterator[DamagedFile]:
    """Check what the drones say of each other, and whether each has kept to its own hosts."""
    # Read twice, because the drones may run: what one sends, another may receive in between.
    before = _standings(crawls)
    after = _standings(crawls)
    yield from check_identities(after)
    yield from check_strangers([crawl for crawl in crawls if crawl not in after], after.values())
    yield from check_channels(_by_drone(before), _by_drone(after))
    owner = owner_of(after.values())
    if owner is None:
        return
    of_own_hosts = (
        LogSubject.PAGE,
        LogSubject.PREREQUISITE,
        LogSubject.REVISIT,
        LogSubject.BLOCK_PAGE,
    )
    for crawl, standing in after.items():
        urls = logged_urls(crawl, of_own_hosts)
        yield from _first(check_owners(standing.drone, urls, owner))


def _standings(crawls: Collection[Path]) -> dict[Path, SavedDrone]:
    """Return what the checkpoints say of the hive, without crawls that belong to none."""
    standings = {}
    for crawl in crawls:
        standing = saved_drone_of(crawl)
        if standing is not None:
            standings[crawl] = standing
    return standings


def _by_drone(standings: Mapping[Path, SavedDrone]) -> dict[int, SavedDrone]:
    return {standing.drone: standing for standing in standings.values()}


def _first(damages: Iterator[DamagedFile]) -> Iterator[DamagedFile]:
    """Yield the first damages, and how many more there are."""
    path = None
    for damage in islice(damages, MAX_PLACES):
        path = damage.path
        yield damage
    more = sum(1 for _ in damages)
    if more and path is not None:
        yield DamagedFile(path, 0, f"{more} more of this kind")


def _add_figures(figures: Counter[str], crawl: Path, found: Counter[str]) -> None:
    """Add the figures of a drone to those of the hive; absent files are below the drone's folder."""
    for name, value in figures.items():
        if name.startswith(GONE_PREFIX):  # the drones were compared with the same earlier archives
            found[name] = max(found[name], value)
        elif name.startswith(ABSENT):
            found[f"{ABSENT}{crawl.name}/{name.removeprefix(ABSENT)}"] += value
        else:
            found[name] += value


def _check_in_one_drone_only(
    crawls: Crawls, found: Counter[str], figure: str, names_of: NamesOfCrawl, why: str
) -> Iterator[DamagedFile]:
    """Count the names that the drones have, and yield those that more than one drone has."""
    names_by_drone = {number: partial(names_of, crawl) for number, crawl in crawls.items()}
    found[figure], shared = shared_names(names_by_drone)
    yield from _first(_damages(crawls, shared, why))


def _check_archives(crawls: Crawls, found: Counter[str]) -> Iterator[DamagedFile]:
    """Count the archived URLs, and yield those of which two drones have the final answer.

    URLs that several drones may have archived are counted apart.

    Several drones may request a robots.txt, or a download that pages await. A host may move to
    another drone between two fetches of a page, and between two attempts at a URL, of which a
    block page is one. Only the log tells which URLs these are.
    """
    names_by_drone = {number: partial(archived, crawl) for number, crawl in crawls.items()}
    found["archived"], shared = shared_names(names_by_drone)
    by_logged_url = {visible(name.name.decode()).encode(): name for name in shared}
    if by_logged_url:
        may_be_shared = (
            LogSubject.PREREQUISITE,
            LogSubject.AWAITED,
            LogSubject.REVISIT,
            LogSubject.BLOCK_PAGE,
        )
        for crawl in crawls.values():
            for url, _, _ in logged_urls(crawl, may_be_shared):
                by_logged_url.pop(url, None)
    has_two_ends = [
        name
        for name in by_logged_url.values()
        if sum(not was_retried(*place) for place in name.places.values()) > 1
    ]
    found["archived in several"] = len(shared) - len(has_two_ends)
    found["archived"] -= sum(len(name.places) for name in shared if name not in has_two_ends)
    yield from _first(_damages(crawls, has_two_ends, "is also in the archive of {}"))


def _damages(crawls: Crawls, shared: Iterable[SharedName], why: str) -> Iterator[DamagedFile]:
    """Yield a damage for each drone that has a name which another has already."""
    for name in shared:
        (first, _), *others = name.places.items()
        words = f"{name.name.decode(errors='replace')} {why.format(crawls[first].name)}"
        for _, (path, offset) in others:
            yield DamagedFile(path, offset, words)


# -- the names of which each drone may have only its own: URLs, records, hosts

ROBOTS = b"/robots.txt"
# Bytes of a record that are read. A metadata record, which tells of a retry, is seldom longer.
MAX_RECORD_BYTES = 1 << 14


class LogSubject(Enum):
    """The subject of a line of crawl.log. Only a PAGE must be in the log of one drone alone."""

    PAGE = auto()
    # robots.txt: the former and the present owner of a host may both request it.
    PREREQUISITE = auto()
    # A page that was fetched again: its host may have moved to another drone since.
    REVISIT = auto()
    # A download inside a page: pages of several drones may await the same URL.
    AWAITED = auto()
    # The URL of a block page is tried again, and its host may have moved to another drone by then.
    BLOCK_PAGE = auto()


def logged_urls(crawl: Path, subjects: Container[LogSubject]) -> PlacedNames:
    """Yield the URLs of crawl.log as of the last checkpoint whose lines have these subjects."""
    path = crawl / LOG
    length = _noted(crawl).get(LOG, 0)
    if not path.exists():  # reported with the drone
        return
    for offset, fields in each(path, 0, length):
        if len(fields) == FIELDS and _subject(fields) in subjects:
            yield fields[URL], path, offset


def _subject(fields: list[bytes]) -> LogSubject:
    """Return the subject of a line of crawl.log. Bytes that are damaged are replaced."""
    if fields[PATH][-1:] == PREREQUISITE:
        return LogSubject.PREREQUISITE
    notes = fields[NOTES].decode(errors="replace").split(",")
    if REVISIT in notes:
        return LogSubject.REVISIT
    if INLINE in notes:
        return LogSubject.AWAITED
    return LogSubject.BLOCK_PAGE if has_block_page(notes) else LogSubject.PAGE


def pages(crawl: Path) -> PlacedNames:
    """Yield the URLs of pages that have ended."""
    return logged_urls(crawl, (LogSubject.PAGE,))


def hosts(crawl: Path) -> PlacedNames:
    """Yield the hosts with URLs. When a host moves, a record without URLs stays behind."""
    with Snapshot(crawl / "state") as snapshot:
        for (name,) in snapshot.rows("SELECT name FROM host WHERE state > 0"):
            yield name.encode(), snapshot.path, 0
        snapshot.check_still()


def archived(crawl: Path) -> PlacedNames:
    """Yield the URLs of archived answers, by the indexes or, where there is none, by the records."""
    noted = _noted(crawl)
    for name, length in noted.items():
        if name.removesuffix(OPEN).endswith(INDEX):
            yield from _urls_in_index(crawl, name, length)
        elif name.removesuffix(OPEN).endswith(ARCHIVE) and index_of(name) not in noted:
            yield from _urls_in_archive(crawl, name, length)


def _urls_in_index(crawl: Path, name: str, length: int) -> PlacedNames:
    """Yield the URLs in an index, without robots.txt."""
    file = open_noted(crawl, name)
    if file is None:  # reported with the drone, or moved away by its owner
        return
    with file:
        for offset, line in lines_of(file, length):
            with suppress(BadLine):  # reported with the drone
                url = read_index_line(line).url.encode()
                if not url.endswith(ROBOTS):
                    yield url, Path(file.name), offset


def was_retried(path: Path, offset: int) -> bool:
    """Return whether an archived answer was not the last attempt at its URL.

    `path` and `offset` are the place of the answer's first record, or of its line in an index.
    Return False if the answer cannot be read.
    """
    with suppress(BadLine, NotWarc, OSError):
        if INDEX in path.name:
            with regular(path) as file:
                file.seek(offset)
                line = read_index_line(file.readline(LONGEST_LINE))
            archive = open_noted(path.parent, line.file)
            if archive is None:
                return False
            archive.close()
            path = Path(archive.name)
            offset = line.offset
        start = unpacked_stream.RecordStart(offset, 0)
        with RecordReader(path, MAX_RECORD_BYTES, ignore_loss, start) as records:
            first = next(iter(captures(records, ignore_loss)), None)
            return first is not None and is_repeat(first)
    return False


def _urls_in_archive(crawl: Path, name: str, length: int) -> PlacedNames:
    """Yield the URLs of answers in an archive file, without robots.txt and a browser's views."""
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
        yield from _urls_in_archive(crawl, name, length)
    except NotWarc:  # reported with the drone
        return


def _noted(crawl: Path) -> dict[str, int]:
    """Return the outputs of the last checkpoint, and how many bytes of them count."""
    return JobDir(crawl).read(lengths)


MAX_SHARED_HASHES = 1 << 14  # whose names are looked for; 20 are reported
Place = tuple[Path, int]  # a file and a byte of it
ReadNames = Callable[[], PlacedNames]  # reads the names of a drone, and may be called twice
COUNT = "SELECT coalesce(sum(drones), 0) FROM (SELECT count(DISTINCT drone) AS drones FROM claim GROUP BY hash)"
SHARED = "SELECT hash FROM claim GROUP BY hash HAVING min(drone) < max(drone) LIMIT ?"


@dataclass(frozen=True, slots=True)
class SharedName:
    """A name that several drones have, and the first place in which each has it."""

    name: bytes
    places: dict[int, Place]  # by drone


def shared_names(names_by_drone: Mapping[int, ReadNames]) -> tuple[int, list[SharedName]]:
    """Return the number of names, counted once per drone, and those that several drones have.

    SQLite sorts hashes of the names, on disk. The names of shared hashes are then read once more.
    Only names that are equal at that time count: a running crawl may have moved others meanwhile.
    """
    count, shared_hashes = _shared_hashes(names_by_drone)
    if not shared_hashes:
        return count, []
    places_by_name: dict[bytes, dict[int, Place]] = {}
    for drone, read_names in names_by_drone.items():
        for name, path, offset in read_names():
            if hash(name) in shared_hashes:
                places_by_name.setdefault(name, {}).setdefault(drone, (path, offset))
    shared = [
        SharedName(name, places) for name, places in places_by_name.items() if len(places) > 1
    ]
    return count, shared


def _shared_hashes(names_by_drone: Mapping[int, ReadNames]) -> tuple[int, set[int]]:
    """Return the number of distinct names of each drone, summed, and hashes that several have.

    At most MAX_SHARED_HASHES are returned. Raise StoreError if SQLite cannot sort them on disk.
    """
    try:
        with closing(sqlite3.connect("")) as db:  # a file that SQLite removes
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("CREATE TABLE claim (hash INTEGER, drone INTEGER)")
            for drone, read_names in names_by_drone.items():
                db.executemany(
                    "INSERT INTO claim VALUES (?, ?)",
                    ((hash(name), drone) for name, _, _ in read_names()),
                )
            ((count,),) = db.execute(COUNT)
            shared = {number for (number,) in db.execute(SHARED, (MAX_SHARED_HASHES,))}
    except sqlite3.Error as error:
        raise StoreError(f"a temporary file of SQLite cannot be written: {error}") from error
    return count, shared
