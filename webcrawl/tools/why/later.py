"""Finds what comes later: links that were left for a segment (docs/segments.md), and pages that are fetched again.

Links lie in the crawl's log, in the builder's pool, or in a list; the record of a page in one of the buckets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from webcrawl.base.dates import iso
from webcrawl.base.model import Packed, authority_of
from webcrawl.crawl.revisit.buckets import seconds_of, stamped
from webcrawl.crawl.revisit.check_revisits import number_of_records, places
from webcrawl.crawl.revisit.record import ASK, SIGNAL, PageRecord, mark_of, record_in
from webcrawl.crawl.segments import FOLDER, FOUND, NAME, POOL
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl, number_of
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.line_blocks import BlockReader
from webcrawl.tools.why.file_search import pieces_from_end
from webcrawl.tools.why.time_words import size

QUICK = 64 << 20  # bytes of the log, and of segments
QUICK_LINES = 1 << 20  # of the pool
FOUND_LOG, IN_POOL, IN_SEGMENT = "log", "pool", "segment"


@dataclass(slots=True)
class Later:
    """The place of a link that waits. `record` is the link, if that place has it."""

    where: str
    file: str
    record: Packed = b""

    def to_json(self) -> dict[str, Any]:
        return {"where": self.where, "file": self.file}


def left_for_later(
    jobdir: Path, urls: Collection[str], domain_of: Callable[[str], str], length: int | None, *, deep: bool
) -> tuple[dict[str, Later], list[str]]:
    """By URL, the latest place of each; and what was not looked through. `length` of the log; None: all of it."""
    wanted = {url.encode(): url for url in urls}
    looked: list[str] = []
    most = -1 if deep else QUICK
    found = {wanted[key]: Later(FOUND_LOG, FOUND, line) for key, line in _log(jobdir, wanted, length, most, looked)}
    home = jobdir.parent if number_of(jobdir) is not None and not is_crawl(jobdir / FOLDER) else jobdir
    if is_crawl(home / FOLDER):
        for key, name in _segments(home / FOLDER, wanted, most, looked):
            link = found.get(wanted[key])
            found[wanted[key]] = Later(IN_SEGMENT, f"{FOLDER}/{name}", link.record if link is not None else b"")
        try:
            for key, record in _pool(home / FOLDER, wanted, domain_of, looked, deep=deep):
                found[wanted[key]] = Later(IN_POOL, FOLDER, record)
        except (StoreError, OSError, ValueError) as error:  # a builder that runs replaces files
            looked.append(f"the pool of segments: {error}")
    return found, looked


def _log(
    jobdir: Path, wanted: Collection[bytes], length: int | None, most: int, looked: list[str]
) -> Iterator[tuple[bytes, Packed]]:
    for line in _lines(jobdir / FOUND, length, most, looked, FOUND):
        url = line[: line.find(b" ")]
        if url in wanted:
            yield url, line


def _segments(folder: Path, wanted: Collection[bytes], most: int, looked: list[str]) -> Iterator[tuple[bytes, str]]:
    """The newest first; together no more than `most`."""
    names = sorted((path.name for path in folder.iterdir() if NAME.fullmatch(path.name)), reverse=True)
    for name in names:
        if not most:
            looked.append(f"segments before {name}")
            return
        for line in _lines(folder / name, None, most, looked, name):
            url = _url(line)
            if url in wanted:
                yield url, name
        if most > 0:
            most = max(0, most - (folder / name).stat().st_size)


def _url(row: bytes) -> bytes:
    """The second column."""
    rest = row[row.find(b",") + 1 :]
    if not rest.startswith(b'"'):
        return rest[: rest.find(b",")]
    return rest[1 : rest.find(b'",')].replace(b'""', b'"')


def _lines(path: Path, length: int | None, most: int, looked: list[str], name: str) -> Iterator[bytes]:
    try:
        file = regular(path)
    except OSError:
        return
    with file:
        whole = os.fstat(file.fileno()).st_size
        whole = whole if length is None else min(whole, length)
        if 0 <= most < whole:
            looked.append(f"{name}: the last {size(most)} of {size(whole)}")
        for _, piece in pieces_from_end(file.fileno(), whole, most):
            yield from piece.split(b"\n")


def _pool(
    folder: Path, wanted: Collection[bytes], domain_of: Callable[[str], str], looked: list[str], *, deep: bool
) -> Iterator[tuple[bytes, Packed]]:
    """Files are sorted by domain and host: what lies outside of those wanted is not looked at."""
    sites = sorted(b"%b %b " % (domain_of(url.decode()).encode(), _host(url)) for url in wanted)
    with Snapshot(folder / "state") as snapshot:
        files = json.loads(snapshot.get(POOL) or b'{"files": []}')["files"]
    lines = 0
    for name, _, _ in files:
        with BlockReader(folder / name) as blocks:
            for block in blocks:
                if block[0] > sites[-1] + b"g":  # a number in hexadecimal digits follows
                    break
                if block[-1] < sites[0]:
                    continue
                lines += len(block)
                if lines > QUICK_LINES and not deep:
                    looked.append(f"the pool of segments: about {QUICK_LINES:,} lines")
                    return
                for line in block:
                    record = line.split(b" ", 3)[3]
                    url = record[: record.find(b" ")]
                    if url in wanted:
                        yield url, record[:-1]


def _host(url: bytes) -> bytes:
    return authority_of(url).rpartition("@")[2].encode()


OF_ALL = 64 << 20  # bytes of records looked at: half a million pages, half a second


class Again(NamedTuple):
    """A record that waits."""

    record: PageRecord
    at: float  # seconds since 1970
    is_due: bool  # then; else the policy is asked then

    def to_json(self, ahead: float) -> dict[str, Any]:
        """`ahead`: what the machine's clock shows beyond the crawl's."""
        record = self.record
        return {
            "due": iso(self.at + ahead) if self.is_due else None,
            "fetched": iso(record.fetched + ahead),
            "visits": record.visits,
            "changes": record.changes,
        }


def among_records(
    snapshot: Snapshot, urls: Iterable[str], *, deep: bool = False
) -> tuple[dict[str, Again], tuple[int, int]]:
    """Those of these pages that wait to be fetched again; how many records were looked at, and how many there are."""
    if not snapshot.has("revisit"):
        return {}, (0, 0)
    wanted, found = {url.encode() for url in urls}, dict[str, Again]()
    looked = size = 0
    for what, records in places(snapshot, SavedQueues(snapshot, "revisit")):
        for entry in records:
            if len(found) == len(wanted) or (size > OF_ALL and not deep):
                return found, (looked, number_of_records(snapshot))
            looked += 1
            size += len(entry)
            if entry[entry.rfind(b" ") + 1 :] in wanted and mark_of(entry) != SIGNAL:  # whose last word is a listing
                try:
                    record = record_in(entry)
                except ValueError as error:
                    raise snapshot.damaged(f"table meta, {what}: {error}") from error
                is_due = mark_of(entry) != ASK
                found[record.url] = Again(record, seconds_of(stamped(entry)), is_due)
    return found, (looked, looked)
