"""Checks the files that a crawl appends to, up to the lengths that the last checkpoint noted, and what counts them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgpack

from webcrawl.record import pagefiles
from webcrawl.record.fulltext.check_texts import Texts
from webcrawl.record.objectstore.stored import IN_STORE, goes, stored_in, stored_of
from webcrawl.record.warc.check_archive import Index, check_archive
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import crawl_line, history_line, link_line, request_line, skip_line
from webcrawl.store.jobdir.crawl_line import LOG, LONGEST
from webcrawl.store.jobdir.crawls import is_locked
from webcrawl.store.jobdir.index_line import INDEX, archive_of
from webcrawl.store.jobdir.meta_row import STATISTICS, is_clean
from webcrawl.store.jobdir.outputs import check_length, crc_of, each_noted, length_of, lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN, Mark

ABSENT = "absent "  # before a name, among the figures: a finished file that its owner has taken away


def check_outputs(snapshot: Snapshot, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads all of them; counts files, bytes noted, bytes after those, records and lines, and finds who is absent."""
    texts = Texts(jobdir, lengths(snapshot).get(LOG, 0), found)
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

    yield from each_noted(snapshot, jobdir, _Check(snapshot, found, texts), absent)
    yield from texts.rest()
    found["behind"] += sum(_unnoted(jobdir, lengths(snapshot)))
    if is_locked(jobdir):
        found["unsaved"] = found.pop("behind")
    elif is_clean(snapshot):
        found["foreign"] = found.pop("behind")


def _unnoted(jobdir: Path, noted: Mapping[str, int]) -> Iterator[int]:
    """The sizes of files begun since the last checkpoint; a running crawl may rename one at this moment."""
    for path in jobdir.glob(f"*/*{OPEN}"):
        name = path.relative_to(jobdir).as_posix()
        if length_of(name, noted) is None:
            with suppress(FileNotFoundError):
                yield path.stat().st_size


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
        for damage in chain(check_length(path, file, name, mark), form):
            sound = False
            yield damage
        if index is not None and sound:
            self.indexes[archive_of(name)] = index
        if sound and (index.crc() if index else crc_of(file, length)) != bytes_crc:  # else the places were reported
            yield DamagedFile(path, 0, f"checksum of the first {length} bytes")

    def _index(self, path: Path, file: BinaryIO, name: str, length: int) -> Index | None:
        if not name.removesuffix(OPEN).endswith(INDEX):
            return None
        if name.endswith(OPEN) and path.suffix != OPEN:  # finished since the checkpoint, so sorted
            return Index(path, file, os.fstat(file.fileno()).st_size, lengths(self.snapshot).get(archive_of(name), 0))
        return Index(path, file, length)

    def _form(self, path: Path, file: BinaryIO, name: str, length: int) -> Iterator[DamagedFile]:
        if self.texts.holds(name.removesuffix(OPEN)):
            yield from self.texts.check(path, file, length)
        elif name in SHAPES:
            yield from check_lines(path, file, name, length, self.found)
        elif name.startswith("warc/") and name.removesuffix(OPEN).endswith(".warc.gz"):
            yield from check_archive(path, file, length, self.found, self.indexes.pop(name, None))


SHAPES = {  # docs/logs.md
    **{kind.LOG: kind.SHAPE for kind in (crawl_line, link_line, pagefiles, skip_line, request_line)},
    history_line.PATH: history_line.SHAPE,
    "logs/neardup.log": re.compile(rb"([0-9a-f]{16}|-)\t[!-~]+\n"),
    "logs/images.log": re.compile(rb"[!-~]+\t([a-z]+\t\d+\t\d+|-\t\t)\t\d+\n"),
}


def check_lines(path: Path, file: BinaryIO, name: str, length: int, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yields each line that does not have its fields."""
    fits, at = SHAPES[name].fullmatch, 0
    while at < length:
        line = file.readline(min(LONGEST, length - at))
        found["lines"] += 1
        if not fits(line) or not _is_text(line):
            why = "no line of this log" if line.endswith(b"\n") else "the last line is cut"
            yield DamagedFile(path, at, f"{why}: {line[:60]!r}")
        at += len(line)
        if not line:
            return
        found[name] += 1


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


POSITION = "pipeline.webcrawl.pipelines.tags.TagsPipeline"
ROW = re.compile(r"[!-~]+\t\d+\t\d+")


def check_tags(snapshot: Snapshot, path: Path) -> Iterator[DamagedFile]:
    """The file may be missing: nothing reads it back, so a user may delete it."""
    if not path.is_file():
        return
    lines = path.read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if not ROW.fullmatch(line):
            yield DamagedFile(path, 0, f"line {number} is no row of counts: {line[:60]!r}")
            return
    position = snapshot.get(POSITION)
    if position is None or snapshot.get("clean") != b"1":  # it is written ahead of each COMMIT
        return
    try:
        noted = ["\t".join(map(str, row)) for row in msgpack.unpackb(position)]
    except (ValueError, TypeError):  # reported with the other positions
        return
    if lines != noted:
        yield DamagedFile(path, 0, "not the counts of the last checkpoint")


def check_statistics(
    snapshot: Snapshot, jobdir: Path, damaged: AbstractSet[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Those that were kept from the crawl's beginning on, unless the log itself is `damaged`."""
    value = snapshot.get(STATISTICS)
    if value is None or jobdir / LOG in damaged:
        return
    try:
        saved = msgpack.unpackb(value, strict_map_key=False)
        lines, since = int(saved["lines"]), int(saved["since"])
    except (ValueError, TypeError, KeyError) as error:
        yield snapshot.damaged(f"table meta, {STATISTICS}: {error!r}")
        return
    if not since and lines != found[LOG]:
        yield snapshot.damaged(f"table meta, {STATISTICS}: of {lines} URLs, {LOG} has {found[LOG]} lines")
