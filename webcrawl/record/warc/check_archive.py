"""Checks WARC files record by record, and each file's index against its records (docs/archive.md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha1
from math import inf
from pathlib import Path
from typing import BinaryIO

from webcrawl.base.digest import label
from webcrawl.base.surt import surt
from webcrawl.content.formats.sniffing import UNNAMED
from webcrawl.record.warc.unpacking import (
    GZIP,
    GZIPPED,
    PackingForm,
    RecordStart,
    TornRecord,
    UnpackedStream,
)
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.index_line import INDEXED, BadLine, archive_of, check, stamp
from webcrawl.store.lines import lines_of
from webcrawl.store.output import OPEN

LONGEST = 1 << 20  # bytes of a record's head at most; its fields are a few URLs
# A member's header as our writer makes it, without flags and time. No checksum covers it: it must
# be right to the bit.
OURS = PackingForm(GZIPPED.new, GZIP + bytes(5))
VERSION = re.compile(rb"WARC/1\.[01]\r\n")
VERSION_SIZE = len("WARC/1.1\r\n")
END_OF_FIELDS = re.compile(rb"\r\n\r\n")
BETWEEN = b"\r\n\r\n"  # behind each record
PIECE = 1 << 18  # bytes
FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\r\n]+)")
MANDATORY = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length", "WARC-Block-Digest"}
END_OF_HEAD = re.compile(rb"\n\r?\n")  # RFC 9112 2.2: a single LF may end a line
HEAD = 1 << 16  # bytes of an HTTP head at most
WITHHELD = "unspecified"  # why a body is not whole: it may not be kept, or cannot be read on
CUT = "cut "  # before a media type, among the figures


def check_archive(
    path: Path, file: BinaryIO, length: int, found: Counter[str], index: IndexLines | None = None
) -> Iterator[DamagedFile]:
    """Yield each damaged record, search for the next one, and continue there.

    Yield also each place where the index differs.
    """
    at = 0
    info = ""
    first = True
    sound = True
    members = UnpackedStream(file, OURS, length)
    while at < length:
        try:
            members.seek(RecordStart(at, 0))
            fields = _record(members)
            after = members.place.offset
            info = _place(fields, info, first=first)
            found["records"] += 1
            kind = fields["WARC-Type"]
            is_cut = fields.get("WARC-Truncated", WITHHELD) != WITHHELD
            # A revisit record says that it is cut because it has no payload
            if is_cut and kind != "revisit":
                found[f"{CUT}{fields.get('WARC-Identified-Payload-Type', UNNAMED)}"] += 1
            if index is not None and kind in INDEXED:
                yield from index.compare(at, after - at, fields)
            at = after
        except TornRecord as torn:
            # A record that cannot be read has a line, too: superfluous lines cannot be told
            sound = False
            yield DamagedFile(path, at, str(torn))
            at = members.find_record(at + 1, VERSION, VERSION_SIZE)
            info = info or "?"
        first = False
    if index is not None and sound:
        yield from index.rest()


def _place(fields: dict[str, str], info: str, *, first: bool) -> str:
    """Return the identifier of the file's warcinfo record, which every other record must name."""
    is_info = fields["WARC-Type"] == "warcinfo"
    if first:
        if not is_info:
            raise TornRecord("the file does not begin with a warcinfo record")
        return fields["WARC-Record-ID"]
    if is_info:
        raise TornRecord("a second warcinfo record")
    named = fields.get("WARC-Warcinfo-ID")
    # The first record may be damaged
    is_known = info != "?"
    if is_known and named != info:
        raise TornRecord(f"WARC-Warcinfo-ID is {named}, but the file's warcinfo record has {info}")
    return info


def _record(member: UnpackedStream) -> dict[str, str]:
    """Return the fields of a record. Raise TornRecord if anything in it is wrong."""
    fields = _fields(member.until(END_OF_FIELDS, LONGEST))
    kind = fields["WARC-Type"]
    wanted = fields.get("WARC-Payload-Digest", "")
    block, payload = _digests(member, int(fields["Content-Length"]), with_head=kind == "response")
    if block != fields["WARC-Block-Digest"]:
        raise TornRecord("block digest mismatch")
    # A revisit has none
    has_payload = kind in ("response", "resource")
    if has_payload and wanted and payload != wanted:
        raise TornRecord("payload digest mismatch")
    if _rest(member) != BETWEEN:
        raise TornRecord("the record is longer than its Content-Length")
    return fields


def _rest(member: UnpackedStream) -> bytes:
    """Return the rest of a member, or enough of it to see that it is too long."""
    rest = b""
    while len(rest) <= len(BETWEEN) and (piece := member.read(PIECE)):
        rest += piece
    return rest


def _digests(member: UnpackedStream, length: int, *, with_head: bool) -> tuple[str, str]:
    """Return the digests of the block, and of the part after the HTTP head."""
    block = sha1(usedforsecurity=False)
    payload = sha1(usedforsecurity=False)
    head = b""
    left = length
    while left:
        piece = member.read(min(left, PIECE))
        if not piece:
            raise TornRecord(f"the record is {left} bytes shorter than its Content-Length")
        left -= len(piece)
        block.update(piece)
        if with_head:
            head += piece
            if left and len(head) < HEAD:
                continue
            with_head = False
            piece = head[_head(head) :]
        payload.update(piece)
    return label(block.digest()), label(payload.digest())


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of a record's head. Raise TornRecord if a field is malformed or missing."""
    version = VERSION.match(head)
    if version is None:
        raise TornRecord("not a WARC record")
    try:
        lines = head[version.end() : -4].decode().split("\r\n")
    except UnicodeDecodeError as error:
        raise TornRecord(f"the fields are not UTF-8: {error}") from error
    matches = [FIELD.fullmatch(line) for line in lines]
    fields = {match[1]: match[2] for match in matches if match is not None}
    missing = MANDATORY - set(fields)
    if missing:
        raise TornRecord(f"missing fields: {', '.join(sorted(missing))}")
    if None in matches or not fields["Content-Length"].isdecimal():
        raise TornRecord("a field is malformed, or Content-Length is not a number")
    return fields


def _head(block: bytes) -> int:
    """Return the length of the HTTP head of a block."""
    end = END_OF_HEAD.search(block)
    return end.end() if end is not None else len(block)


class IndexLines:
    """The lines of an index, by the place of the record; 250 bytes of memory for each.

    The crawl noted the checksum of the lines in the order of the archive, before they were sorted.
    `until`: lines of records from this byte of the archive on were added after the checkpoint.
    """

    def __init__(self, path: Path, file: BinaryIO, length: int, until: float = inf) -> None:
        self._path = path
        self._file = file
        self._length = length
        self._until = until
        self._archive = archive_of(path.name.removesuffix(OPEN))
        # By the record's place: place and length of the line, hash of its fields, and digest
        self._lines: dict[int, tuple[int, int, int, str]] = {}

    def read(self) -> Iterator[DamagedFile]:
        """Yield each line that is malformed, not in order, or a second one for the same record."""
        before = b""
        is_sorted = self._path.suffix != OPEN
        for at, line in lines_of(self._file, self._length):
            why = self._take(line, at)
            is_misplaced = is_sorted and line < before
            if why or is_misplaced:
                yield DamagedFile(self._path, at, why or "the line is not in sorted order")
            before = line

    def _take(self, line: bytes, at: int) -> str:
        """Take a line; return what is wrong with it, or an empty string."""
        try:
            found = check(line)
        except BadLine as error:
            return str(error)
        if found.file != self._archive:
            return f"the line belongs to no record of {self._archive}"
        offset = found.offset
        if offset >= self._until:
            return ""
        if offset in self._lines:
            return f"a second line for the record at byte {offset}"
        says = hash((found.key, found.stamp, found.url, str(found.length)))
        self._lines[offset] = at, len(line), says, found.digest
        return ""

    def crc(self) -> int:
        """Return the checksum of the lines in the order of the archive."""
        crc = 0
        for _, (at, size, _, _) in sorted(self._lines.items()):
            self._file.seek(at)
            crc = rowcrc.crc32_of_many(self._file.read(size), crc)
        return crc

    def compare(self, at: int, length: int, fields: Mapping[str, str]) -> Iterator[DamagedFile]:
        """Yield an error if the line for this record is missing or says something else.

        The digest of a response with a transfer coding is not among its fields: such a line is
        covered by the checksum only.
        """
        found = self._lines.pop(at, None)
        if found is None:
            yield DamagedFile(
                self._path, 0, f"no line for the record at byte {at} of {self._archive}"
            )
            return
        place, _, says, digest = found
        url = fields.get("WARC-Target-URI", "")
        is_conversion = fields["WARC-Type"] == "conversion"
        block = fields["WARC-Block-Digest"] if is_conversion else digest
        right_digest = fields.get("WARC-Payload-Digest", block)
        right = hash((surt(url), stamp(fields["WARC-Date"]), url, str(length)))
        if says != right or digest != right_digest:
            yield DamagedFile(
                self._path,
                place,
                f"the line differs from the record at byte {at} of {self._archive}",
            )

    def rest(self) -> Iterator[DamagedFile]:
        """Yield the lines for which the archive had no record."""
        for at, (place, *_) in self._lines.items():
            yield DamagedFile(self._path, place, f"{self._archive} has no record at byte {at}")
