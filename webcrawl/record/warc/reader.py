"""Reads the WARC files of any program, versions 0.17 to 1.1, from any record on (docs/archive.md).

What is damaged is skipped up to the next record and reported; nothing is lost without a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from webcrawl.record.warc.archive_files import opened
from webcrawl.record.warc.unpacking import (
    GZIPPED,
    PIECE,
    PLAIN,
    PackingForm,
    RecordStart,
    TornRecord,
    Unpackable,
    UnpackedStream,
    form_of,
)

LONGEST = 1 << 20  # bytes of a record's head; the longest fields are a few URLs
START = re.compile(rb"WARC/\d+\.\d+[ \t]*\r?\n")
STARTS = 16  # bytes that tell a start
ARC = re.compile(rb"filedesc://")  # the format before WARC
# A record in the middle of something. No line end comes before it where a run of garbage does.
NEXT = re.compile(rb"(WARC/\d+\.\d+[ \t]*\r?\n(?i:WARC-|Content-))")
NEXT_SIZE = 40
BETWEEN = re.compile(rb"\r\n\r\n")  # records, as the standard wants it
BETWEEN_SIZE = 4
END_OF_HEAD = re.compile(rb"\n\r?\n")
FOLD = re.compile(rb"\r?\n[ \t]+")
OPEN = ".open"  # at the end of the name of a file that is being written


class NotWarc(Exception):  # noqa: N818 - reads as what it is
    """A file that has no record at all."""


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """A damaged place, and how much of the file was skipped."""

    at: int
    why: str
    size: int


@dataclass(slots=True)
class ReadRecord:
    """One record.

    Its fields have names in lower case; the values of a repeated one stand together, with blanks.
    """

    kind: str
    fields: dict[str, str]
    block: bytes  # its first bytes, as many as the reader keeps
    size: int  # of the whole block
    place: RecordStart
    after: RecordStart  # the place of the record that follows

    @property
    def id(self) -> str:
        return self.fields.get("warc-record-id", "")

    @property
    def length(self) -> int:
        """Return the bytes of the file that the record takes, if it is a member by itself."""
        return self.after.offset - self.place.offset

    @property
    def url(self) -> str:
        """Return the URL without the angle brackets that early drafts of the standard had."""
        return self.fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")

    def values(self) -> dict[str, str]:
        """Return the fields in the kept block of a metadata record, with names in lower case."""
        found: dict[str, str] = {}
        for line in self.block.decode("utf-8", "replace").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                found.setdefault(name.strip().lower(), value.strip())
        return found

    def names(self, other: str, *fields: str) -> bool:
        """Return whether one of these fields refers to the record with this identifier."""
        return bool(other) and any(other in self.fields.get(name, "").split() for name in fields)


class RecordReader:
    """The records of a file in their order, with `most` bytes of a block kept.

    `on_lost` is told of damage.

    Only the first `size` bytes count, if that is known. If not, the end of a file whose name ends
    in `.open` is no damage: what is missing is still to come.
    """

    def __init__(
        self,
        path: Path,
        most: int,
        on_lost: Callable[[SkippedRange], None],
        place: RecordStart | None = None,
        size: int | None = None,
        file: BinaryIO | None = None,
    ) -> None:
        """`file`: the file at this path if it is open already; it is closed with the records."""
        self._most = most
        self._on_lost = on_lost
        self.ended = False
        self.is_open = path.name.endswith(OPEN) and size is None
        self._file = opened(path) if file is None else file
        try:
            whole = self._file.seek(0, 2)
            self.size = whole if size is None else min(size, whole)
            form = _form(self._file, path)
            self._unpacked = UnpackedStream(self._file, form, self.size)
            self._is_packed = form is not PLAIN
            self._is_gzip = form is GZIPPED
            if place is None:
                self._not_arc(path)
            self._any = place is not None
            if place is not None and place.offset < self.size:
                self._unpacked.seek(place)
            self.place = self._unpacked.place if place is None else place
        except TornRecord as torn:
            self._file.close()
            raise NotWarc(f"{path}: not a WARC file: {torn}") from torn
        except BaseException:
            self._file.close()
            raise
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[ReadRecord]:
        return iter(self.next, None)

    def next(self) -> ReadRecord | None:
        """Return the next record, or None at the end.

        Afterwards `place` is where the one after it begins.
        """
        while self.place.offset < self.size:
            try:
                record = self._next()
            except TornRecord as torn:
                # The record may still be being written
                if torn.ends and self.is_open:
                    break
                self._skip(torn)
            else:
                if record is not None:
                    self._any = True
                    return record
        self.ended = True
        if not self._any and not self.is_open:
            raise NotWarc(f"{self._path}: not a WARC file: it contains no record")
        return None

    def sound(self) -> Iterator[ReadRecord]:
        """Yield the records of a file in which each is a gzip member by itself.

        Raise TornRecord if one is not, or is damaged.
        """
        while self.place.offset < self.size:
            record = self._next()
            if record is None:
                return
            is_member = self._is_gzip and not record.place.skip and not record.after.skip
            if not is_member:
                raise TornRecord("the record is not a gzip member of its own")
            yield record

    def close(self) -> None:
        self._file.close()

    def _not_arc(self, path: Path) -> None:
        if self._unpacked.begins(ARC, STARTS):
            raise NotWarc(f"{path}: this is an ARC file: `warcio recompress` converts it to WARC")

    def _next(self) -> ReadRecord | None:
        unpacked = self._unpacked
        if not unpacked.blank():
            self.place = RecordStart(self.size, 0)
            return None
        self.place = unpacked.place
        if not unpacked.begins(START, STARTS):
            raise TornRecord("not a WARC record")
        fields = _fields(self._head())
        size = int(fields["content-length"])
        block = self._block(size)
        # Any part of a file that is not packed may be garbage. A record that ends as it should is
        # whole all the same.
        is_whole = not self._is_packed and unpacked.begins(BETWEEN, BETWEEN_SIZE)
        # Some programs write fewer line ends than two, or more. Reading on to the end of a member
        # checks its sum before the record is handed out. FastWARC 2.0 and warcio 1.8 hand out a
        # record that is cut, without an error.
        is_last = unpacked.ended()
        if not is_last and not is_whole and not unpacked.begins(START, STARTS):
            raise TornRecord("the record is longer than its Content-Length")
        record = ReadRecord(
            fields.get("warc-type", "").lower(), fields, block, size, self.place, unpacked.place
        )
        self.place = record.after
        return record

    def _head(self) -> bytes:
        """Return the head of a record. Raise TornRecord if another record begins within it."""
        head = self._unpacked.until(END_OF_HEAD, LONGEST)
        if NEXT.search(head, 1):
            raise TornRecord("the head of a record has no end", within=True)
        return head

    def _block(self, size: int) -> bytes:
        """Return the block, kept up to `most`.

        One gzip for all may have ended and begun anew anywhere: its rest follows.
        """
        kept = self._most
        parts = []
        left = size
        # At once: a length with one digit too many would have the rest of the file read for it
        if not self._is_packed and left > self._unpacked.left:
            raise TornRecord(
                f"the file ends {left - self._unpacked.left} bytes before a record's end", ends=True
            )
        while left:
            piece = self._unpacked.read(min(left, PIECE))
            if piece:
                left -= len(piece)
                if kept > 0:
                    parts.append(piece[:kept])
                    kept -= len(piece)
            elif not self._unpacked.cross():
                raise TornRecord(f"the file ends {left} bytes before a record's end", ends=True)
            elif self._unpacked.begins(START, STARTS):
                raise TornRecord(f"the record is {left} bytes shorter than its Content-Length")
        return b"".join(parts)

    def _skip(self, torn: TornRecord) -> None:
        """Go to the next record: in what can be unpacked of the member, or else to the next member."""
        begin = self.place
        if not self._found(torn, begin):
            self.place = RecordStart(self.size, 0)
            if self._is_packed:
                self.place = RecordStart(
                    self._unpacked.find_record(begin.offset + 1, START, STARTS), 0
                )
        at = begin.offset
        size = self.place.offset - begin.offset
        if not self._is_packed:
            # The whole file is one member: all of a place is in the skipped bytes
            at = sum(begin)
            size = sum(self.place) - at
        self._on_lost(SkippedRange(at, str(torn), size))

    def _found(self, torn: TornRecord, begin: RecordStart) -> bool:
        """Return whether a record follows in what can be unpacked."""
        unpacked = self._unpacked
        if isinstance(torn, Unpackable):
            return False
        try:
            if torn.within:
                unpacked.seek(begin)
                unpacked.read(1)
            here = unpacked.place != begin and unpacked.begins(START, STARTS)
            if not here and not unpacked.find(NEXT, NEXT_SIZE):
                return False
            # The bytes here look like a record, and have just been found not to be one
            if unpacked.place == begin:
                unpacked.read(1)
                if not unpacked.find(NEXT, NEXT_SIZE):
                    return False
        except TornRecord:
            return False
        self.place = unpacked.place
        return True


def sound_records(path: Path, file: BinaryIO, most: int, at: int, end: int) -> Iterator[ReadRecord]:
    """Yield the records from byte `at` to byte `end` of an open file, which stays open.

    Raise TornRecord as `RecordReader.sound` does.
    """
    try:
        records = RecordReader(path, most, ignore_loss, RecordStart(at, 0), end, file)
    except NotWarc as error:
        raise TornRecord(str(error)) from error
    return records.sound()


def ignore_loss(*_: object) -> None:
    """Hear of what is lost, and do nothing: all must be sound, or the damage is told elsewhere."""


def _form(file: BinaryIO, path: Path) -> PackingForm:
    if not file.seek(0, 2) and not path.name.endswith(OPEN):
        raise NotWarc(f"{path}: not a WARC file: it is empty")
    form = form_of(file, path.name.removesuffix(OPEN))
    if form is None:
        file.seek(0)
        package = ""
        if file.read(4) == b"PK\3\4":
            package = "; a WACZ package is read if its name ends in .wacz"
        raise NotWarc(f"{path}: not a WARC file{package}")
    return form


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of a head. Raise TornRecord if it lacks a field that is needed to read on."""
    values: dict[str, list[str]] = {}
    for line in FOLD.sub(b" ", head).split(b"\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            values.setdefault(_text(name).strip().lower(), []).append(_text(value).strip())
    fields = {name: " ".join(texts) for name, texts in values.items()}
    length = fields.get("content-length", "")
    # `isdecimal` is true of the digits of any script
    is_number = length.isascii() and length.isdecimal() and len(length) < 19
    if not is_number:
        raise TornRecord(f"Content-Length is not a number: {length[:40]!r}", within=True)
    return fields


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        # No byte is lost this way, and the record can be read
        return data.decode("latin-1")
