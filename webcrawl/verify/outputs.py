"""Checks the files that a crawl appends to, each up to the length that the last checkpoint noted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
from webcrawl.verify.stored import IN_STORE, stored_in, stored_of
from webcrawl.verify.texts import LOG, Texts
from webcrawl.warc.index import INDEX

ABSENT = "absent "  # before a name, among the figures: a finished file that its owner has taken away
PIECE = 1 << 18  # bytes per read
Check = Callable[[Path, BinaryIO, str, Mark], Iterator[DamagedFile]]
Absent = Callable[[str, int], Iterator[DamagedFile]]


def check_outputs(snapshot: Snapshot, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads all of them; counts files, bytes noted, bytes after those, records and lines, and finds who is absent."""
    texts = Texts(jobdir, _length(snapshot, LOG), found)
    stored, store = stored_in(snapshot)

    def absent(name: str, length: int) -> Iterator[DamagedFile]:
        if texts.holds(name):
            texts.absent()
        one = stored.get(name) or (stored_of(jobdir)[0].get(name) if store else None)  # or since the checkpoint
        if one is not None and not one.is_taken:
            found[f"{IN_STORE}{one.address}"] += 1
        elif store and goes(name) and one is None:
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected: neither here nor in {store}")
        elif name.endswith(INDEX) and (jobdir / archive_of(name)).exists():
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected: its archive is here")
        else:
            found[f"{ABSENT}{name}"] += 1

    yield from _each(snapshot, jobdir, _Check(snapshot, found, texts), absent)
    yield from texts.rest()


def _length(snapshot: Snapshot, name: str) -> int:
    """The bytes of an output that count."""
    rows = list(snapshot.rows("SELECT length FROM output WHERE path = ?", (name,)))
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
        if file is None and (f"{FINISHED}{name}" in finished or _finished_since(jobdir, str(name))):
            yield from absent(str(name).removesuffix(OPEN), length)
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


def _finished_since(jobdir: Path, name: str) -> bool:
    """Whether a running crawl has finished this file since the snapshot was taken: then it may be gone already."""
    if not name.endswith(OPEN):
        return False
    with Snapshot(jobdir / "state") as now:
        return bool(list(now.rows("SELECT 1 FROM meta WHERE name = ?", (f"{FINISHED}{name.removesuffix(OPEN)}",))))


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


@dataclass(slots=True)
class _Check:
    """Checks each file as what it is."""

    snapshot: Snapshot
    found: Counter[str]
    texts: Texts
    indexes: dict[str, Index] = field(default_factory=dict)  # until their archives follow, which come next by name

    def __call__(self, path: Path, file: BinaryIO, name: str, mark: Mark) -> Iterator[DamagedFile]:
        length, bytes_crc = mark
        size = os.fstat(file.fileno()).st_size
        self.found["files"] += 1
        self.found["bytes"] += length
        self.found["behind"] += max(0, size - length)
        sound = True
        if size < length:
            self.indexes.pop(name, None)  # what its lines are about may be gone: the loss is reported once
        index = self._index(path, file, name, min(size, length))
        form = index.read() if index else self._form(path, file, name, min(size, length))
        for damage in chain(_check_length(path, file, name, mark), form):
            sound = False
            yield damage
        if index is not None and sound:
            self.indexes[archive_of(name)] = index
        if sound and (index.crc() if index else _crc(file, length)) != bytes_crc:  # otherwise, the places were reported
            yield DamagedFile(path, 0, f"checksum of the first {length} bytes")

    def _index(self, path: Path, file: BinaryIO, name: str, length: int) -> Index | None:
        if not name.removesuffix(OPEN).endswith(INDEX):
            return None
        if name.endswith(OPEN) and path.suffix != OPEN:  # finished since the checkpoint, so sorted
            return Index(path, file, os.fstat(file.fileno()).st_size, _length(self.snapshot, archive_of(name)))
        return Index(path, file, length)

    def _form(self, path: Path, file: BinaryIO, name: str, length: int) -> Iterator[DamagedFile]:
        if self.texts.holds(name.removesuffix(OPEN)):
            yield from self.texts.check(path, file, length)
        elif name in SHAPES:
            yield from check_lines(path, file, name, length, self.found)
        elif name.startswith("warc/") and name.removesuffix(OPEN).endswith(".warc.gz"):
            yield from check_archive(path, file, length, self.found, self.indexes.pop(name, None))


def _crc(file: BinaryIO, length: int) -> int:
    crc, left = 0, length
    file.seek(0)
    while left and (piece := file.read(min(PIECE, left))):
        crc, left = rowcrc.crc32_of_many(piece, crc), left - len(piece)
    return crc
