"""Checks the files that a crawl appends to, each up to the length that the last checkpoint noted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from webcrawl.objectstore.listing import goes
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.output import OPEN, Mark
from webcrawl.store.outputs import FINISHED, NOTED
from webcrawl.store.regular import regular
from webcrawl.tables.progress import PARQUET, STREAM
from webcrawl.verify.archive import check_archive
from webcrawl.verify.index import Index, archive_of
from webcrawl.verify.lines import SHAPES, check_lines
from webcrawl.verify.snapshot import Snapshot
from webcrawl.verify.stored import IN_STORE, stored_in
from webcrawl.verify.texts import LOG, Texts
from webcrawl.warc.index import INDEX

ABSENT = "absent "  # before a name, among the figures: a finished file that its owner has taken away
PIECE = 1 << 18  # bytes per read
Check = Callable[[Path, BinaryIO, str, Mark], Iterator[DamagedFile]]
Absent = Callable[[str, int], Iterator[DamagedFile]]


def check_outputs(snapshot: Snapshot, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads all of them; counts files, bytes noted, bytes after those, records and lines, and finds who is absent."""
    indexes: dict[str, Index] = {}  # until their archives follow, which come next by name

    texts = Texts(jobdir, _log_length(snapshot), found)
    stored, store = stored_in(snapshot)

    def absent(name: str, length: int) -> Iterator[DamagedFile]:
        if texts.holds(name):
            texts.absent()
        if name in stored and not stored[name].is_taken:
            found[f"{IN_STORE}{stored[name].address}"] += 1
        elif store and goes(name) and name not in stored:
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected: neither here nor in {store}")
        elif name.endswith(INDEX) and (jobdir / archive_of(name)).exists():
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected: its archive is here")
        else:
            found[f"{ABSENT}{name}"] += 1

    yield from _each(snapshot, jobdir, partial(_check, found, indexes, texts), absent)
    yield from texts.rest()


def _log_length(snapshot: Snapshot) -> int:
    """The bytes of crawl.log that count."""
    rows = list(snapshot.rows("SELECT length FROM output WHERE path = ?", (LOG,)))
    return rows[0][0] if rows and isinstance(rows[0][0], int) else 0


def check_lengths(snapshot: Snapshot, jobdir: Path) -> Iterator[DamagedFile]:
    """Yields the files that are missing or too short."""
    yield from _each(snapshot, jobdir, _check_length, lambda *_: iter(()))


def _each(snapshot: Snapshot, jobdir: Path, check: Check, absent: Absent) -> Iterator[DamagedFile]:
    finished = {name for (name,) in snapshot.rows("SELECT name FROM meta WHERE name GLOB ?", (f"{FINISHED}*",))}
    for row in snapshot.rows(NOTED):
        name, length, bytes_crc, _ = row
        if not rowcrc.agrees(rowcrc.output, row):
            yield snapshot.damaged(f"table output, {name}: checksum")
            continue
        where = PurePosixPath(str(name))
        if where.is_absolute() or ".." in where.parts or not isinstance(length, int) or length < 0:
            yield snapshot.damaged(f"table output: {length!r} bytes of {name!r}")
            continue
        file = open_noted(jobdir, str(name))
        if file is None and f"{FINISHED}{name}" in finished:
            yield from absent(str(name), length)
            continue
        if file is None and _is_converted(jobdir, str(name)):
            continue
        if file is None:
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected")
            continue
        with file:
            yield from check(Path(file.name), file, str(name), (length, bytes_crc))


def open_noted(jobdir: Path, name: str) -> BinaryIO | None:
    """Opens a file that may still have its `.open`, which a running crawl may remove at this moment."""
    for candidate in (name, f"{name}{OPEN}", name, name.removesuffix(OPEN)):
        try:
            return regular(jobdir / candidate)
        except FileNotFoundError:
            continue
    return None


def _is_converted(jobdir: Path, name: str) -> bool:
    """Whether a running crawl has replaced this stream by its Parquet file since the snapshot was taken."""
    table = f"{name.removesuffix(STREAM)}{PARQUET}"
    return name.endswith(STREAM) and any((jobdir / path).exists() for path in (table, f"{table}{OPEN}"))


def _check_length(path: Path, file: BinaryIO, name: str, mark: Mark) -> Iterator[DamagedFile]:
    del name
    length, _ = mark
    size = os.fstat(file.fileno()).st_size
    if size < length:
        yield DamagedFile(path, size, f"the file ends early, {length} bytes expected")


def _check(
    found: Counter[str], indexes: dict[str, Index], texts: Texts, path: Path, file: BinaryIO, name: str, mark: Mark
) -> Iterator[DamagedFile]:
    length, bytes_crc = mark
    size = os.fstat(file.fileno()).st_size
    found["files"] += 1
    found["bytes"] += length
    found["behind"] += max(0, size - length)
    sound = True
    if size < length:
        indexes.pop(name, None)  # what its lines are about may be gone: the loss is reported once
    index = Index(path, file, min(size, length)) if name.removesuffix(OPEN).endswith(INDEX) else None
    if texts.holds(name.removesuffix(OPEN)):
        form = texts.check(path, file, min(size, length))
    else:
        form = index.read() if index else _form(path, file, name, min(size, length), found, indexes)
    for damage in chain(_check_length(path, file, name, mark), form):
        sound = False
        yield damage
    if index is not None and sound:
        indexes[archive_of(name)] = index
    if sound and (index.crc() if index else _crc(file, length)) != bytes_crc:  # otherwise the places have been reported
        yield DamagedFile(path, 0, f"checksum of the first {length} bytes")


def _form(
    path: Path, file: BinaryIO, name: str, length: int, found: Counter[str], indexes: dict[str, Index]
) -> Iterator[DamagedFile]:
    if name in SHAPES:
        yield from check_lines(path, file, name, length, found)
    elif name.startswith("warc/") and name.removesuffix(OPEN).endswith(".warc.gz"):
        yield from check_archive(path, file, length, found, indexes.pop(name, None))


def _crc(file: BinaryIO, length: int) -> int:
    crc, left = 0, length
    file.seek(0)
    while left and (piece := file.read(min(PIECE, left))):
        crc, left = rowcrc.crc32_of_many(piece, crc), left - len(piece)
    return crc
