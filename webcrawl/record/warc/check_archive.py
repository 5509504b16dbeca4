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
from webcrawl.record.warc.unpacked_stream import (
    GZIP_MAGIC,
    GZIPPED,
    MAX_HEAD_BYTES,
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

# The header of a gzip member as our writer makes it, without flags and time. No checksum covers the
# header, so it must be right to the bit.
OWN_MEMBERS = PackingForm(GZIPPED.new, GZIP_MAGIC + bytes(5))
VERSION = re.compile(rb"WARC/1\.[01]\r\n")
VERSION_SIZE = len("WARC/1.1\r\n")
END_OF_FIELDS = re.compile(rb"\r\n\r\n")
RECORD_END = b"\r\n\r\n"
PIECE_BYTES = 1 << 18  # read at a time
FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\r\n]+)")
MANDATORY_FIELDS = {
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "Content-Length",
    "WARC-Block-Digest",
}
END_OF_HEAD = re.compile(rb"\n\r?\n")  # RFC 9112 2.2: a single LF may end a line
MAX_HTTP_HEAD_BYTES = 1 << 16
# In WARC-Truncated: the body may not be kept, or could not be read to its end
WITHHELD = "unspecified"
# Before a media type, among the figures: the number of truncated bodies
TRUNCATED_PREFIX = "truncated "


def check_archive(
    path: Path, file: BinaryIO, length: int, counts: Counter[str], index: IndexLines | None = None
) -> Iterator[DamagedFile]:
    """Yield each damaged record of an archive file, and each place where its index differs.

    Only the first `length` bytes are checked. After a damaged record, the next one is searched for.
    Records, and truncated bodies by media type, are counted in `counts`.
    """
    at = 0
    info = ""
    is_first = True
    is_sound = True
    members = UnpackedStream(file, OWN_MEMBERS, length)
    while at < length:
        try:
            members.seek(RecordStart(at, 0))
            fields = _check_record(members)
            after = members.place.offset
            info = _check_warcinfo(fields, info, is_first=is_first)
            counts["records"] += 1
            kind = fields["WARC-Type"]
            is_truncated = fields.get("WARC-Truncated", WITHHELD) != WITHHELD
            # A revisit record counts as truncated because it has no payload: its body was not
            # truncated
            if is_truncated and kind != "revisit":
                media_type = fields.get("WARC-Identified-Payload-Type", UNNAMED)
                counts[f"{TRUNCATED_PREFIX}{media_type}"] += 1
            if index is not None and kind in INDEXED:
                yield from index.compare(at, after - at, fields)
            at = after
        except TornRecord as torn:
            # The damaged record may have a line in the index: whether it is superfluous is unknown
            is_sound = False
            yield DamagedFile(path, at, str(torn))
            at = members.find_record(at + 1, VERSION, VERSION_SIZE)
            info = info or "?"
        is_first = False
    if index is not None and is_sound:
        yield from index.remaining_damage()


def _check_warcinfo(fields: dict[str, str], info: str, *, is_first: bool) -> str:
    """Return the identifier of the file's warcinfo record, given that of the records before.

    Raise TornRecord if the first record is no warcinfo record, or if another record is one or does
    not name the first. The identifier is `?` if the first record is damaged.
    """
    is_info = fields["WARC-Type"] == "warcinfo"
    if is_first:
        if not is_info:
            raise TornRecord("the file does not begin with a warcinfo record")
        return fields["WARC-Record-ID"]
    if is_info:
        raise TornRecord("a second warcinfo record")
    named = fields.get("WARC-Warcinfo-ID")
    is_known = info != "?"
    if is_known and named != info:
        raise TornRecord(f"WARC-Warcinfo-ID is {named}, but the file's warcinfo record has {info}")
    return info


def _check_record(member: UnpackedStream) -> dict[str, str]:
    """Read a record to its end, and return its fields. Raise TornRecord if anything is wrong."""
    end_of_fields = member.find(END_OF_FIELDS, MAX_HEAD_BYTES, 4)
    fields = _fields(member.take(end_of_fields.end()))
    kind = fields["WARC-Type"]
    wanted = fields.get("WARC-Payload-Digest", "")
    block, payload = _digests(member, int(fields["Content-Length"]), with_head=kind == "response")
    if block != fields["WARC-Block-Digest"]:
        raise TornRecord("block digest mismatch")
    # The digest of a revisit record is that of another record's payload
    has_payload = kind in ("response", "resource")
    if has_payload and wanted and payload != wanted:
        raise TornRecord("payload digest mismatch")
    if _rest_of_member(member) != RECORD_END:
        raise TornRecord("the record is longer than its Content-Length")
    return fields


def _rest_of_member(member: UnpackedStream) -> bytes:
    """Return the rest of a member, or enough of it to show that it is too long."""
    rest = b""
    while len(rest) <= len(RECORD_END):
        piece = member.read(PIECE_BYTES)
        if not piece:
            break
        rest += piece
    return rest


def _digests(member: UnpackedStream, length: int, *, with_head: bool) -> tuple[str, str]:
    """Return the digest of a block of `length` bytes, and that of the part after its HTTP head.

    Without `with_head` the block has no head. Raise TornRecord if the block is shorter.
    """
    block = sha1(usedforsecurity=False)
    payload = sha1(usedforsecurity=False)
    head = b""
    left = length
    while left:
        piece = member.read(min(left, PIECE_BYTES))
        if not piece:
            raise TornRecord(f"the record is {left} bytes shorter than its Content-Length")
        left -= len(piece)
        block.update(piece)
        if with_head:
            head += piece
            if left and len(head) < MAX_HTTP_HEAD_BYTES:
                continue
            with_head = False
            piece = head[_http_head_bytes(head) :]
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
    missing = MANDATORY_FIELDS - set(fields)
    if missing:
        raise TornRecord(f"missing fields: {', '.join(sorted(missing))}")
    if None in matches or not fields["Content-Length"].isdecimal():
        raise TornRecord("a field is malformed, or Content-Length is not a number")
    return fields


def _http_head_bytes(block: bytes) -> int:
    end = END_OF_HEAD.search(block)
    return end.end() if end is not None else len(block)


class IndexLines:
    """The lines of an index by the place of their records, which take 250 bytes of memory each."""

    def __init__(self, path: Path, file: BinaryIO, length: int, until: float = inf) -> None:
        """Only the first `length` bytes of the open file count.

        Lines of records from byte `until` of the archive on are ignored: they were added after the
        checkpoint.
        """
        self._path = path
        self._file = file
        self._length = length
        self._until = until
        self._archive = archive_of(path.name.removesuffix(OPEN))
        # By the record's place in the archive: place and length of the line, hash of its fields
        # but the digest, and the digest
        self._lines: dict[int, tuple[int, int, int, str]] = {}

    def read(self) -> Iterator[DamagedFile]:
        """Read the lines; yield each one that is malformed, out of order, or a repetition."""
        before = b""
        is_sorted = self._path.suffix != OPEN
        for at, line in lines_of(self._file, self._length):
            why = self._add(line, at)
            is_misplaced = is_sorted and line < before
            if why or is_misplaced:
                yield DamagedFile(self._path, at, why or "the line is not in sorted order")
            before = line

    def _add(self, line: bytes, at: int) -> str:
        """Add the line at byte `at`. Return what is wrong with it, or an empty string."""
        try:
            checked = check(line)
        except BadLine as error:
            return str(error)
        if checked.file != self._archive:
            return f"the line belongs to no record of {self._archive}"
        offset = checked.offset
        if offset >= self._until:
            return ""
        if offset in self._lines:
            return f"a second line for the record at byte {offset}"
        fields_hash = hash((checked.key, checked.stamp, checked.url, str(checked.length)))
        self._lines[offset] = at, len(line), fields_hash, checked.digest
        return ""

    def crc(self) -> int:
        """Return the checksum of the lines in the order of their records.

        The crawl noted this checksum before it sorted the lines.
        """
        crc = 0
        for _, (at, size, _, _) in sorted(self._lines.items()):
            self._file.seek(at)
            crc = rowcrc.crc32_of_many(self._file.read(size), crc)
        return crc

    def compare(self, at: int, length: int, fields: Mapping[str, str]) -> Iterator[DamagedFile]:
        """Yield an error if the line of this record is missing or differs from the record.

        `at` and `length` are the record's place and its size in the archive. A response with a
        transfer coding has no payload digest: then the digest in the line is not compared.
        """
        line = self._lines.pop(at, None)
        if line is None:
            yield DamagedFile(
                self._path, 0, f"no line for the record at byte {at} of {self._archive}"
            )
            return
        place, _, fields_hash, digest = line
        url = fields.get("WARC-Target-URI", "")
        is_conversion = fields["WARC-Type"] == "conversion"
        block = fields["WARC-Block-Digest"] if is_conversion else digest
        right_digest = fields.get("WARC-Payload-Digest", block)
        right_hash = hash((surt(url), stamp(fields["WARC-Date"]), url, str(length)))
        if fields_hash != right_hash or digest != right_digest:
            yield DamagedFile(
                self._path,
                place,
                f"the line differs from the record at byte {at} of {self._archive}",
            )

    def remaining_damage(self) -> Iterator[DamagedFile]:
        """Yield an error for each line whose record is not in the archive. Call this at the end."""
        for at, (place, *_) in self._lines.items():
            yield DamagedFile(self._path, place, f"{self._archive} has no record at byte {at}")
