"""Checks the index of a WARC file: line by line, and against the records of its archive (docs/warc.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import BinaryIO

from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.output import OPEN
from webcrawl.text.surt import surt
from webcrawl.warc.index import ARCHIVE, INDEX, stamp

INDEXED = frozenset(("response", "revisit", "resource", "conversion"))
LONGEST = 1 << 20  # bytes of a line; a damaged file may have no line ends at all
LINE = re.compile(rb"([!-~]+) (\d{14}) (\{[ -~]*\})\n")
NAMES = ("url", "digest", "length", "offset", "filename")


def archive_of(index: str) -> str:
    """The name of the archive file that has this index."""
    return ARCHIVE.join(index.rsplit(INDEX, 1))


class Index:
    """What the lines say, by the place of the record; 250 bytes of memory for each.

    The crawl noted the checksum of the lines in the order of the archive, before they were sorted. `until`: lines of
    records from this byte of the archive on are none of the checkpoint's, which the crawl has sorted in since then.
    """

    def __init__(self, path: Path, file: BinaryIO, length: int, until: float = inf) -> None:
        self._path, self._file, self._length, self._until = path, file, length, until
        self._archive = archive_of(path.name.removesuffix(OPEN))
        self._lines: dict[int, tuple[int, int, int, str]] = {}  # place and length of the line, what it says, digest

    def __repr__(self) -> str:
        return f"<Index {self._path} {len(self._lines)} lines>"

    def read(self) -> Iterator[DamagedFile]:
        """Yields each line that is none, is not in order, or is of a record that has one already."""
        at, before, is_sorted = 0, b"", self._path.suffix != OPEN
        self._file.seek(0)
        while at < self._length and (line := self._file.readline(min(LONGEST, self._length - at))):
            why = self._take(line, at)
            if why or (is_sorted and line < before):
                yield DamagedFile(self._path, at, why or "not sorted")
            at, before = at + len(line), line

    def _take(self, line: bytes, at: int) -> str:
        """What is wrong with this line, if anything is."""
        parts = LINE.fullmatch(line)
        try:
            values = json.loads(parts[3]) if parts is not None else {}
        except ValueError:
            values = {}
        if parts is None or not all(isinstance(values.get(name), str) for name in NAMES):
            return f"no line of an index: {line[:60]!r}"
        if values["filename"] != self._archive or not values["offset"].isdecimal():
            return f"of no record of {self._archive}"
        offset = int(values["offset"])
        if offset >= self._until:
            return ""
        if offset in self._lines:
            return f"a second line for the record at byte {offset}"
        says = hash((parts[1].decode(), parts[2].decode(), values["url"], values["length"]))
        self._lines[offset] = at, len(line), says, values["digest"]
        return ""

    def crc(self) -> int:
        """Of the lines in the order of the archive."""
        crc = 0
        for _, (at, size, _, _) in sorted(self._lines.items()):
            self._file.seek(at)
            crc = rowcrc.crc32_of_many(self._file.read(size), crc)
        return crc

    def compare(self, at: int, length: int, fields: Mapping[str, str]) -> Iterator[DamagedFile]:
        """Yields the line for this record of the archive if it says something else, or that there is none.

        The digest of a response with a transfer coding is not among its fields: there only the checksum tells.
        """
        found = self._lines.pop(at, None)
        if found is None:
            yield DamagedFile(self._path, 0, f"no line for the record at byte {at} of {self._archive}")
            return
        place, _, says, digest = found
        url, kind = fields.get("WARC-Target-URI", ""), fields["WARC-Type"]
        block = fields["WARC-Block-Digest"] if kind == "conversion" else digest
        right = fields.get("WARC-Payload-Digest", block)
        if says != hash((surt(url), stamp(fields["WARC-Date"]), url, str(length))) or digest != right:
            yield DamagedFile(self._path, place, f"not what the record at byte {at} of {self._archive} says")

    def rest(self) -> Iterator[DamagedFile]:
        """Yields the lines for which the archive had no record."""
        for at, (place, *_) in self._lines.items():
            yield DamagedFile(self._path, place, f"{self._archive} has no such record at byte {at}")
