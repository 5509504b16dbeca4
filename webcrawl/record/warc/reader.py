"""Reads the WARC files of any program, versions 0.17 to 1.1, from any record on (docs/archive.md).

Damaged parts are skipped up to the next record, and each of them is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from webcrawl.record.warc.archive_files import open_archive
from webcrawl.record.warc.unpacked_stream import (
    GZIPPED,
    MAX_HEAD_BYTES,
    PIECE_BYTES,
    PLAIN,
    PackingForm,
    RecordStart,
    TornRecord,
    UnpackableMember,
    UnpackedStream,
    form_of,
)
from webcrawl.store.output import OPEN

RECORD_START = re.compile(rb"WARC/\d+\.\d+[ \t]*\r?\n")
RECORD_START_BYTES = 16  # that are enough to recognise a start
ARC_START = re.compile(rb"filedesc://")  # the format before WARC
# A record that begins anywhere. There may be garbage before it, without the end of a line.
_WITHIN = rb"WARC/\d+\.\d+[ \t]*\r?\n(?i:WARC-|Content-)"
RECORD_WITHIN = re.compile(rb"(" + _WITHIN + rb")")
RECORD_WITHIN_BYTES = 40
RECORD_END = re.compile(rb"\r\n\r\n")  # behind each record, as the standard wants it
RECORD_END_BYTES = 4
# Or another record within the head: then the empty group matches. The search is fast because each
# alternative begins with a certain byte.
END_OF_HEAD = re.compile(rb"\n\r?\n|" + _WITHIN + rb"()")
FOLDED_LINE = re.compile(rb"\r?\n[ \t]+")


class NotWarc(Exception):  # noqa: N818 - reads as what it is
    """A file has no WARC record at all, or is no WARC file."""


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """A damaged part of a file, which was skipped."""

    at: int  # byte of the file
    why: str
    size: int  # bytes of the file


@dataclass(slots=True)
class ReadRecord:
    """One record.

    The names of its fields are in lower case. The values of a repeated field are joined by blanks.
    """

    kind: str
    fields: dict[str, str]
    block: bytes  # only its first bytes, if the reader keeps no more
    size: int  # bytes of the whole block
    place: RecordStart
    after: RecordStart  # the place of the record that follows

    @property
    def id(self) -> str:
        return self.fields.get("warc-record-id", "")

    @property
    def length(self) -> int:
        """Return the bytes that the record takes in the file, if it is a gzip member of its own."""
        return self.after.offset - self.place.offset

    @property
    def url(self) -> str:
        """Return the URL without the angle brackets that early drafts of the standard had."""
        return self.fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")

    def values(self) -> dict[str, str]:
        """Return the fields in the block of a metadata record, with names in lower case."""
        values: dict[str, str] = {}
        for line in self.block.decode("utf-8", "replace").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                values.setdefault(name.strip().lower(), value.strip())
        return values

    def names(self, identifier: str, *fields: str) -> bool:
        """Return whether one of these fields refers to the record with this identifier."""
        return bool(identifier) and any(
            identifier in self.fields.get(name, "").split() for name in fields
        )


class RecordReader:
    """Reads the records of a file in their order.

    `place` is where the next record begins. `ended` is true once the end of the file was reached.
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
        """Begin at `place`, or at the beginning of the file. Raise NotWarc if it is no WARC file.

        `most`: how many bytes of each block are kept. Call `on_lost` with each damaged part.
        `size`: how many bytes of the file count. Without it, a file whose name ends in `.open` is
        still being written: that its end is missing is no damage. `file` is the file at this path,
        if it is open already; it is closed with the reader.
        """
        self._most = most
        self._on_lost = on_lost
        self.ended = False
        self.is_open = path.name.endswith(OPEN) and size is None
        self._file = open_archive(path) if file is None else file
        try:
            file_size = self._file.seek(0, 2)
            self.size = file_size if size is None else min(size, file_size)
            form = _packing_form(self._file, path)
            self._unpacked = UnpackedStream(self._file, form, self.size)
            self._is_packed = form is not PLAIN
            self._is_gzip = form is GZIPPED
            if place is None:
                self._refuse_arc(path)
            self._begin = 0  # position of the record that is read, among the unpacked bytes
            # Position of the file's end, once a record was seen to be longer than the file: others
            # that are, too, need not be read to there
            self._end: int | None = None
            self._has_record = place is not None
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
        """Return the next record, or None at the end of the file.

        Afterwards `place` is where the record after it begins. Raise NotWarc at the end of a
        finished file without any record.
        """
        while self.place.offset < self.size:
            try:
                record = self._next()
            except TornRecord as torn:
                # The record may not be finished yet
                if torn.ends and self.is_open:
                    break
                self._skip(torn)
            else:
                if record is not None:
                    self._has_record = True
                    return record
        self.ended = True
        if not self._has_record and not self.is_open:
            raise NotWarc(f"{self._path}: not a WARC file: it contains no record")
        return None

    def sound(self) -> Iterator[ReadRecord]:
        """Yield the records of a file in which each record is a gzip member of its own.

        Raise TornRecord if a record is not, or if it is damaged.
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

    def _refuse_arc(self, path: Path) -> None:
        if self._unpacked.begins_with(ARC_START, RECORD_START_BYTES):
            raise NotWarc(f"{path}: this is an ARC file: `warcio recompress` converts it to WARC")

    def _next(self) -> ReadRecord | None:
        """Return the record at `place`, or None at the end. Raise TornRecord if it is damaged."""
        unpacked = self._unpacked
        if not unpacked.skip_blank_lines():
            self.place = RecordStart(self.size, 0)
            return None
        self.place = unpacked.place
        self._begin = unpacked.position
        if not unpacked.begins_with(RECORD_START, RECORD_START_BYTES):
            raise TornRecord("not a WARC record")
        fields = self._head()
        size = int(fields["content-length"])
        block = self._block(size)
        # In a file that is not packed, garbage may follow. A record with the right end is whole all
        # the same.
        has_own_end = not self._is_packed and unpacked.begins_with(RECORD_END, RECORD_END_BYTES)
        # Skips line ends: some programs write fewer than two, or more. Reading to the end of a
        # member also verifies its checksum before the record is returned. FastWARC 2.0 and warcio
        # 1.8 return a record that is truncated, without an error.
        is_complete = unpacked.is_at_member_end() or has_own_end
        if not is_complete and not unpacked.begins_with(RECORD_START, RECORD_START_BYTES):
            raise TornRecord("the record is longer than its Content-Length")
        record = ReadRecord(
            fields.get("warc-type", "").lower(), fields, block, size, self.place, unpacked.place
        )
        self.place = record.after
        return record

    def _head(self) -> dict[str, str]:
        """Read the head of a record, and return its fields.

        Raise TornRecord if it is damaged, or if the file is known to end before the record does.
        Nothing is consumed then, so that the search for the next record need not unpack the member
        once more.
        """
        end = self._unpacked.find(END_OF_HEAD, MAX_HEAD_BYTES, RECORD_WITHIN_BYTES)
        if end.lastindex:
            raise TornRecord("the head of a record has no end", within=True)
        fields = _head_fields(end.string[: end.end()])
        if self._end is not None:
            missing = int(fields["content-length"]) - (self._end - self._begin - end.end())
            if missing > 0:
                raise _ends_early(missing)
        self._unpacked.take(end.end())
        return fields

    def _block(self, size: int) -> bytes:
        """Read a block of `size` bytes, and return as many of its first bytes as are kept.

        If all records are in one gzip member, a block may go on in a second one, because the writer
        may have begun anew anywhere. Raise TornRecord if the block is shorter.
        """
        to_keep = self._most
        parts = []
        left = size
        # Check it at once: for a length with a digit too many the rest of the file would be read
        if not self._is_packed and left > self._unpacked.unread_bytes:
            raise _ends_early(left - self._unpacked.unread_bytes)
        while left:
            piece = self._unpacked.read(min(left, PIECE_BYTES))
            if piece:
                left -= len(piece)
                if to_keep > 0:
                    parts.append(piece[:to_keep])
                    to_keep -= len(piece)
            elif not self._unpacked.next_member():
                self._end = self._unpacked.position
                raise _ends_early(left)
            elif self._unpacked.begins_with(RECORD_START, RECORD_START_BYTES):
                raise TornRecord(f"the record is {left} bytes shorter than its Content-Length")
        return b"".join(parts)

    def _skip(self, torn: TornRecord) -> None:
        """Go to the next record, in this member or else in a later one, and report the damage."""
        begin = self.place
        if not self._find_in_member(torn, begin):
            self.place = RecordStart(self.size, 0)
            self._end = None  # positions are counted anew
            if self._is_packed:
                self.place = RecordStart(
                    self._unpacked.find_record(begin.offset + 1, RECORD_START, RECORD_START_BYTES),
                    0,
                )
        at = begin.offset
        size = self.place.offset - begin.offset
        if not self._is_packed:
            # The whole file is one member: both numbers of a place count bytes of the file
            at = sum(begin)
            size = sum(self.place) - at
        self._on_lost(SkippedRange(at, str(torn), size))

    def _find_in_member(self, torn: TornRecord, begin: RecordStart) -> bool:
        """Go to the next record that can still be unpacked; return whether there is one."""
        unpacked = self._unpacked
        if isinstance(torn, UnpackableMember):
            return False
        try:
            if torn.within:
                unpacked.go_back(begin, self._begin)
                unpacked.read(1)
            has_moved = unpacked.place != begin
            is_at_record = has_moved and unpacked.begins_with(RECORD_START, RECORD_START_BYTES)
            if not is_at_record and not unpacked.skip_to(RECORD_WITHIN, RECORD_WITHIN_BYTES):
                return False
            # This is where the torn record begins: it only looks like a record
            if unpacked.place == begin:
                unpacked.read(1)
                if not unpacked.skip_to(RECORD_WITHIN, RECORD_WITHIN_BYTES):
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
    """Do nothing about damage: it is reported elsewhere, or makes the caller fail anyway."""


def _packing_form(file: BinaryIO, path: Path) -> PackingForm:
    """Return how a file is packed. Raise NotWarc if it is empty or no archive file."""
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


def _ends_early(missing: int) -> TornRecord:
    return TornRecord(f"the file ends {missing} bytes before a record's end", ends=True)


def _head_fields(head: bytes) -> dict[str, str]:
    """Return the fields of a head, with names in lower case.

    Raise TornRecord if Content-Length is missing or malformed, because the end of the record is not
    known then.
    """
    values: dict[str, list[str]] = {}
    for line in FOLDED_LINE.sub(b" ", head).split(b"\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            values.setdefault(_decoded(name).strip().lower(), []).append(_decoded(value).strip())
    fields = {name: " ".join(texts) for name, texts in values.items()}
    length = fields.get("content-length", "")
    # `isdecimal` alone accepts the digits of any script. A longer number exceeds 63 bits.
    is_number = length.isascii() and length.isdecimal() and len(length) < 19
    if not is_number:
        raise TornRecord(f"Content-Length is not a number: {length[:40]!r}", within=True)
    return fields


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        # Every byte has a character in Latin-1, so nothing is lost and the record can be read
        return data.decode("latin-1")
