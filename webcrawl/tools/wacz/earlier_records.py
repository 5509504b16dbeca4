"""Records of earlier archives that those of a package refer to for their bodies: where they lie, and copies of them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from webcrawl.base.dates import seconds_of
from webcrawl.base.readable import count
from webcrawl.record.since.index import FileReadError, lines_of
from webcrawl.record.since.sources import archive_of
from webcrawl.record.warc.packed_files import EARLIER
from webcrawl.store.disk import Disk, regular
from webcrawl.store.jobdir.index_line import BadLine, Line, read_line, stamp, url_key
from webcrawl.store.line_blocks import sort_lines
from webcrawl.tools.verify.gzip_members import Torn
from webcrawl.tools.wacz.packable_archives import line_of
from webcrawl.tools.wacz.warc_records import Record, Reference, records
from webcrawl.urls.exclusion_rules import Forgotten

INDEX = "earlier.cdxj"
TOLD = 20  # archive files that have a line
PIECE = 1 << 20


class Needed:
    """References that the package itself does not answer: 9 bytes of memory each."""

    def __init__(self, references: Iterable[Reference]) -> None:
        self.by_digest = False  # some name nothing else: what does not answer them may be anywhere
        self._keys = array("Q", map(self._noted, references))
        np.frombuffer(self._keys, np.uint64).sort()  # in its place
        self._found = bytearray(len(self._keys))

    def __len__(self) -> int:
        """Those of which no record was found yet."""
        return self._found.count(0)

    def has(self, line: Line) -> int:
        """How many of them refer to this capture."""
        has_payload = line.digest and not line.is_revisit  # whatever its status: an error's page may come again
        return sum(end - begin for begin, end in self._ranges(line)) if has_payload else 0

    def found(self, line: Line) -> None:
        """They are answered."""
        for begin, end in self._ranges(line):
            self._found[begin:end] = b"\1" * (end - begin)

    def _noted(self, reference: Reference) -> int:
        self.by_digest = self.by_digest or not reference.stamp
        return _key(reference)

    def _ranges(self, line: Line) -> Iterator[tuple[int, int]]:
        """Where those lie that name a capture, or its payload alone, and are not answered: either all are or none."""
        names = [Reference(line.url, line.stamp, line.digest)]
        if self.by_digest:
            names.append(Reference("", "", line.digest))
        for key in map(_key, names):
            begin = bisect_left(self._keys, key)
            if begin < len(self._keys) and self._keys[begin] == key and not self._found[begin]:
                yield begin, bisect_left(self._keys, key + 1)


def answered(needed: Needed, indexes: Iterable[Path], first: str) -> None:
    """Those to the package's first second may be to its own records; all others are older than it, or name no time."""
    mark = f" {first} ".encode("latin-1")
    for index in indexes if needed else ():
        with regular(index) as lines:
            for data in lines:
                if (needed.by_digest or mark in data) and (line := _line(data)) is not None and needed.has(line):
                    needed.found(line)


def _key(reference: Reference) -> int:
    return url_key(" ".join(reference))


@dataclass(slots=True)
class Lies:
    """Where the needed records lie that are not in the package; what could not be read, in words."""

    files: Counter[Path] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)


def captures(needed: Needed, indexes: Iterable[Path], lies: Lies) -> Iterator[tuple[Line, Path]]:
    """Those that are needed, and the index that has each; few of many lines."""
    for index in indexes:
        try:
            for lines in lines_of(index):
                for data in lines:
                    line = _line(data)
                    if line is not None and needed.has(line):
                        yield line, index
        except FileReadError as error:
            lies.told.append(f"{index}: {error}: nothing more of it is read")


def _line(data: bytes) -> Line | None:
    try:
        return read_line(data)
    except BadLine:
        return None


def look(needed: Needed, indexes: Iterable[Path]) -> Lies:
    """The archive files that have needed records, and how many references to each."""
    lies = Lies()
    for line, index in captures(needed, indexes, lies):
        lies.files[next(archive_of(index, line.file))] += needed.has(line)
        needed.found(line)
    return lies


def copy(needed: Needed, indexes: Iterable[Path], folder: Path, forgotten: Forgotten) -> tuple[int, list[str]]:
    """Copies the needed records into an archive file with its index; returns their number, and what has to be said."""
    lies, copied, lines = Lies(), 0, folder / f"{INDEX}.lines"
    with (folder / EARLIER).open("wb") as archive, lines.open("wb") as index:
        for line, path in captures(needed, indexes, lies):
            if forgotten and forgotten.has(line.url, seconds_of(line.date)):
                continue
            at = archive.tell()
            record = _copied(line, path, archive, lies.told)
            if record is not None:
                record.at = at
                index.write(line_of(record, EARLIER, line.written))
                needed.found(line)
                copied += 1
    sort_lines(Disk(), lines, folder / INDEX)
    lines.unlink()
    return copied, lies.told


def _copied(line: Line, index: Path, out: BinaryIO, told: list[str]) -> Record | None:
    """The record of a line, if it is there and what the line says; its bytes are then in the other file."""
    why = f"{line.file}: not found beside {index}"
    for path in archive_of(index, line.file):
        try:
            with regular(path) as file:
                record = next(records(file, line.offset, path.stat().st_size), None)
                if record is not None and _is(record, line):
                    _append(file, line.offset, record.length, out)
                    return record
            why = f"{path}, byte {line.offset}: not the record that its index names"
        except FileNotFoundError:
            continue
        except Torn as error:
            why = f"{path}, byte {line.offset}: {error}"
        break
    if len(told) < TOLD and why not in told:
        told.append(why)
    return None


def _append(file: BinaryIO, at: int, length: int, out: BinaryIO) -> None:
    file.seek(at)
    while length and (piece := file.read(min(PIECE, length))):
        out.write(piece)
        length -= len(piece)


def _is(record: Record, line: Line) -> bool:
    if record.kind not in ("response", "resource") or stamp(record.fields.get("WARC-Date", "")) != line.stamp:
        return False  # a date in another form fits in no index
    return Reference.of(record.fields, "WARC-Target-URI", "WARC-Date") in (
        Reference(line.url, line.stamp, line.digest),
        Reference(line.url, line.stamp, ""),  # the index alone knows it
    )


def said(left: int, lies: Lies, others: Iterable[str], *, given: bool = False) -> Iterator[str]:
    """What a package depends on, in lines: `left` records whose place is unknown; `others` are servers that know it.

    `given`: earlier archives were named, and have not given these.
    """
    whole = left + sum(lies.files.values())
    if whole:
        advice = "" if given else "; --with JOBDIR packs it"
        yield f"{count(whole, 'record')} without a body, which earlier archives have{advice}"
    yield from (f"  {number} in {path}" for path, number in lies.files.most_common(TOLD))
    if rest := sum(lies.files.values()) - sum(number for _, number in lies.files.most_common(TOLD)):
        yield f"  {rest} in {len(lies.files) - TOLD} other files"
    if left:
        where = ", ".join(others)
        yield f"  {left} in archives that are not known here{f', by {where}' if where else ''}"
    yield from lies.told
