"""What a drone of a hive has, by names that may be read twice: URLs of its log and its archive, hosts with URLs."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from enum import Enum, auto
from functools import partial
from pathlib import Path

from webcrawl.store.output import OPEN
from webcrawl.store.regular import regular
from webcrawl.verify.index import LINE, LONGEST
from webcrawl.verify.lines import CRAWL_LOG
from webcrawl.verify.logged import FIELDS, NOTES, PATH, URL, logged
from webcrawl.verify.outputs import open_noted
from webcrawl.verify.shared import Names
from webcrawl.verify.snapshot import Snapshot
from webcrawl.warc.index import ARCHIVE, INDEX, index_of
from webcrawl.warc.reader import NotWarc, Records

INLINE, REVISIT = b"inline", b"revisit"  # notes in the log
ROBOTS = b"/robots.txt"
RETRIED = ("408", "429")  # and 5xx
Named = Iterator[tuple[bytes, Path, int]]


class Line(Enum):
    """What a line of the log is about."""

    PAGE = auto()
    PREREQUISITE = auto()  # robots.txt, which the former and the present owner of a host may ask for
    REVISIT = auto()  # a page that was fetched again: its host may have changed hands since
    AWAITED = auto()  # a download inside a page: pages of several drones may await the same


def lines(crawl: Path, kinds: Container[Line]) -> Named:
    """URLs of the log, of these kinds."""
    path = crawl / CRAWL_LOG
    length = _noted(crawl).get(CRAWL_LOG, 0)
    if not path.exists():  # reported
        return
    for at, fields in logged(path, 0, length):
        if len(fields) == FIELDS and _kind(fields) in kinds:
            yield fields[URL], path, at


def _kind(fields: list[bytes]) -> Line:
    if fields[PATH][-1:] == b"P":
        return Line.PREREQUISITE
    notes = fields[NOTES].split(b",")
    if REVISIT in notes:
        return Line.REVISIT
    return Line.AWAITED if INLINE in notes else Line.PAGE


def pages(crawl: Path) -> Names:
    """URLs that have ended."""
    return partial(lines, crawl, (Line.PAGE,))


def hosts(crawl: Path) -> Names:
    """Hosts with URLs. A record without any stays behind when its slot moves."""

    def names() -> Named:
        with Snapshot(crawl / "state") as snapshot:
            for (name,) in snapshot.rows("SELECT name FROM host WHERE state > 0"):
                yield name.encode(), snapshot.path, 0
            snapshot.check_still()

    return names


def archived(crawl: Path) -> Names:
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


def tried_again(path: Path, at: int) -> bool:
    """Whether this line of an index is of an answer after which another attempt was made, perhaps by another drone."""
    if INDEX not in path.name:
        return False
    with regular(path) as file:
        file.seek(at)
        parts = LINE.fullmatch(file.readline(LONGEST))
    status = str(json.loads(parts[3]).get("status", "")) if parts is not None else ""
    return status in RETRIED or status.startswith("5")


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
