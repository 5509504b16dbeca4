"""The files that a crawl appends to: each counts up to its length in the table `output`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from webcrawl.store import rowcrc
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN, PARQUET, STREAM, Mark
from webcrawl.store.outputs import FINISHED, NOTED

Check = Callable[[Path, BinaryIO, str, Mark], Iterator[DamagedFile]]
Absent = Callable[[str, int], Iterator[DamagedFile]]


PIECE = 1 << 18  # bytes per read


def lengths(snapshot: Snapshot) -> dict[str, int]:
    """Return the bytes that count of each file, by its path."""
    rows = snapshot.rows("SELECT path, length FROM output ORDER BY path")
    return {str(path): length for path, length in rows if isinstance(length, int)}


def length_of(name: str, noted: Mapping[str, int]) -> int | None:
    """Return the bytes that count of a file, which may have been noted before it lost its `.open`.

    None if it was not.
    """
    return noted.get(name, noted.get(name.removesuffix(OPEN)))


def finished_names(snapshot: Snapshot, pattern: str = "*") -> set[str]:
    """Return the files that the crawl has finished and needs no more, if their names match."""
    rows = snapshot.rows("SELECT name FROM meta WHERE name GLOB ?", (f"{FINISHED}{pattern}",))
    return {str(name).removeprefix(FINISHED) for (name,) in rows}


def check_lengths(snapshot: Snapshot, jobdir: Path) -> Iterator[DamagedFile]:
    """Yield the files that are missing or too short."""
    yield from each_noted(snapshot, jobdir, check_length, lambda *_: iter(()))


def each_noted(
    snapshot: Snapshot, jobdir: Path, check: Check, absent: Absent
) -> Iterator[DamagedFile]:
    """Yield what is wrong with the files that the checkpoint names.

    `check` yields the damages of a file that is here, `absent` those of a finished one that is not.
    An unfinished one must be here.
    """
    finished = finished_names(snapshot)
    for row in snapshot.rows(NOTED):
        name, length, bytes_crc, _ = row
        if not rowcrc.agrees(rowcrc.output, row):
            yield snapshot.damaged(f"table output, {name}: wrong checksum")
            continue
        name = str(name)
        is_length = isinstance(length, int) and length >= 0
        # A name from elsewhere must not lead out of the folder: what it names is opened
        if not _is_inside(name) or not is_length:
            yield snapshot.damaged(
                f"table output: {row[0]!r} with {length!r} bytes is not a valid entry"
            )
            continue
        file = open_noted(jobdir, name)
        if file is not None:
            with file:
                yield from check(Path(file.name), file, name, (length, bytes_crc))
        elif name in finished or _has_finished_since(jobdir, name):
            yield from absent(name.removesuffix(OPEN), length)
        elif not _is_converted(jobdir, name):
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected")


def _is_inside(name: str) -> bool:
    """Return whether a file of this name is below the job directory."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def open_noted(jobdir: Path, name: str) -> BinaryIO | None:
    """Open a file that may still have its `.open`, which a running crawl may remove at this moment."""
    # The name twice: between two looks a running crawl may have given the file its final name
    for candidate in (name, f"{name}{OPEN}", name, name.removesuffix(OPEN)):
        try:
            return regular(jobdir / candidate)
        except FileNotFoundError:
            continue
    return None


def _has_finished_since(jobdir: Path, name: str) -> bool:
    """Return whether a running crawl has finished this file since the snapshot was taken.

    Its owner may have taken it away since.
    """
    if not name.endswith(OPEN):
        return False
    finished = f"{FINISHED}{name.removesuffix(OPEN)}"
    with Snapshot(jobdir / "state") as now:
        return bool([*now.rows("SELECT 1 FROM meta WHERE name = ?", (finished,))])


def _is_converted(jobdir: Path, name: str) -> bool:
    """Return whether a running crawl has replaced this stream by its Parquet file since the
    snapshot was taken.
    """
    if not name.endswith(STREAM):
        return False
    table = f"{name.removesuffix(STREAM)}{PARQUET}"
    return (jobdir / table).exists() or (jobdir / f"{table}{OPEN}").exists()


def check_length(path: Path, file: BinaryIO, name: str, mark: Mark) -> Iterator[DamagedFile]:
    del name
    length, _ = mark
    size = os.fstat(file.fileno()).st_size
    if size < length:
        yield DamagedFile(path, size, f"the file ends early, {length} bytes expected")


def crc_of(file: BinaryIO, length: int) -> int:
    """Return the checksum of a file's first bytes, up to the length."""
    crc = 0
    left = length
    file.seek(0)
    while left and (piece := file.read(min(PIECE, left))):
        crc = rowcrc.crc32_of_many(piece, crc)
        left -= len(piece)
    return crc
