"""Checks a hive: each drone as a crawl of its own, then that everything belongs to one drone (docs/operations.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdirs import STATE, crawls_of
from webcrawl.store.output import OPEN
from webcrawl.text.percent import visible
from webcrawl.verify.index import LINE, LONGEST
from webcrawl.verify.lines import CRAWL_LOG
from webcrawl.verify.logged import FIELDS, NOTES, PATH, URL, logged
from webcrawl.verify.outputs import ABSENT, open_noted
from webcrawl.verify.shared import Names, Shared, shared
from webcrawl.verify.snapshot import Snapshot
from webcrawl.verify.whole import NoCrawl, check_stats, guarded, verify
from webcrawl.warc.index import ARCHIVE, INDEX, index_of
from webcrawl.warc.reader import NotWarc, Records

TOLD = 20  # places of each kind; of the others only how many there are
INLINE = b"inline"  # the note of a download that a page has awaited: pages of two drones may await the same
ROBOTS = b"/robots.txt"
Crawls = Mapping[int, Path]  # by position
Has = Callable[[Path], Names]  # what a drone has
Named = Iterator[tuple[bytes, Path, int]]


def verify_hive(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """As `verify` does for one crawl; the figures are sums. StoreError: the check is impossible."""
    crawls: dict[int, Path] = {}
    for number, crawl in enumerate(crawls_of(jobdir)):
        mine = Counter[str]()
        try:
            yield from verify(crawl, mine)
        except NoCrawl:
            yield DamagedFile(crawl / STATE, 0, "missing, a drone of this hive")
            continue
        crawls[number] = crawl
        found.update({_named(name, crawl): many for name, many in mine.items()})
    found["drones"] = len(crawls)
    yield from guarded(lambda: _once(crawls, found, "pages", _pages, "is in the log of {} too"))
    yield from guarded(lambda: _archives(crawls, found))
    yield from guarded(lambda: _once(crawls, found, "hosts in use", _hosts, "has URLs in {} too"))
    yield from check_stats(jobdir / "stats.json")


def _named(figure: str, crawl: Path) -> str:
    """Names of absent files are below the drone's folder."""
    return f"{ABSENT}{crawl.name}/{figure.removeprefix(ABSENT)}" if figure.startswith(ABSENT) else figure


def _once(crawls: Crawls, found: Counter[str], figure: str, has: Has, why: str) -> Iterator[DamagedFile]:
    found[figure], twice = shared({number: has(crawl) for number, crawl in crawls.items()})
    yield from _told(crawls, twice, why)


def _archives(crawls: Crawls, found: Counter[str]) -> Iterator[DamagedFile]:
    """Several drones may ask for a robots.txt, and for what pages await; only the log says which URLs are such."""
    found["archived"], twice = shared({number: _archived(crawl) for number, crawl in crawls.items()})
    by_log = {visible(one.name.decode()).encode(): one for one in twice}
    if by_log:
        for crawl in crawls.values():
            for name, _, _ in _lines(crawl, pages=False):
                by_log.pop(name, None)
    yield from _told(crawls, by_log.values(), "is in the archive of {} too")


def _told(crawls: Crawls, twice: Iterable[Shared], why: str) -> Iterator[DamagedFile]:
    rest = iter(twice)
    for one in islice(rest, TOLD):
        (first, _), *others = one.places.items()
        for _, (path, at) in others:
            yield DamagedFile(path, at, f"{one.name.decode(errors='replace')} {why.format(crawls[first].name)}")
    for one in islice(rest, 1):
        path, _ = next(iter(one.places.values()))
        yield DamagedFile(path, 0, f"{1 + sum(1 for _ in rest)} more like these")


# -- what a drone has


def _pages(crawl: Path) -> Names:
    return partial(_lines, crawl, pages=True)


def _lines(crawl: Path, *, pages: bool) -> Named:
    """URLs of the log: pages, or else what several drones may ask for."""
    path = crawl / CRAWL_LOG
    length = _noted(crawl).get(CRAWL_LOG, 0)
    if not path.exists():  # reported
        return
    for at, fields in logged(path, 0, length):
        if len(fields) == FIELDS:
            is_page = fields[PATH][-1:] != b"P" and INLINE not in fields[NOTES].split(b",")
            if is_page is pages:
                yield fields[URL], path, at


def _hosts(crawl: Path) -> Names:
    """Hosts with URLs. A record without any stays behind when its slot moves."""

    def names() -> Named:
        with Snapshot(crawl / "state") as snapshot:
            for (name,) in snapshot.rows("SELECT name FROM host WHERE state > 0"):
                yield name.encode(), snapshot.path, 0
            snapshot.check_still()

    return names


def _archived(crawl: Path) -> Names:
    """What the archive holds an answer of: by its index, or by its records where it has none."""

    def names() -> Named:
        noted = _noted(crawl)
        for name, length in noted.items():
            if name.removesuffix(OPEN).endswith(INDEX):
                yield from _indexed(crawl, name, length)
            elif name.removesuffix(OPEN).endswith(ARCHIVE) and index_of(name) not in noted:
                yield from _recorded(crawl, name, length)

    return names


def _indexed(crawl: Path, name: str, length: int) -> Named:
    file = open_noted(crawl, name)
    if file is None:  # reported, or taken away
        return
    with file:
        at = 0
        while at < length and (line := file.readline(min(LONGEST, length - at))):
            parts = LINE.fullmatch(line)
            url = json.loads(parts[3])["url"].encode() if parts is not None else b""
            if url and not url.endswith(ROBOTS):
                yield url, Path(file.name), at
            at += len(line)


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


def _ignore(_: object) -> None:
    """Damage is reported with the drone."""


def _noted(crawl: Path) -> dict[str, int]:
    """The outputs of the last checkpoint, and how many bytes of them count."""
    with Snapshot(crawl / "state") as snapshot:
        noted = {
            str(name): length
            for name, length in snapshot.rows("SELECT path, length FROM output ORDER BY path")
            if isinstance(length, int)
        }
        snapshot.check_still()
    return noted
