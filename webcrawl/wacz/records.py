"""Reads records of an archive file: their fields, and the beginning of their blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from webcrawl.verify.members import Member, Torn

HEAD = 1 << 16  # bytes of a block that are kept: more than any HTTP head, or any metadata
FIELDS = 1 << 20
_VERSION = re.compile(rb"WARC/1\.[01]\r\n")
_TYPE = re.compile(rb"\ncontent-type:[ \t]*([^\r\n;]*)", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_END = re.compile(rb"\n\r?\n")


@dataclass(slots=True)
class Record:
    """One record; `block` is its beginning."""

    fields: dict[str, str]
    block: bytes
    at: int
    length: int

    @property
    def kind(self) -> str:
        return self.fields.get("WARC-Type", "")

    @property
    def head(self) -> bytes:
        """The HTTP head, if there is one."""
        end = _END.search(self.block)
        return self.block[: end.end() if end else None] if _STATUS.match(self.block) else b""

    @property
    def media_type(self) -> str:
        """The answer's, or that of a record without one."""
        found = _TYPE.search(self.head)
        if self.head:
            return found[1].strip().decode("latin-1") if found else ""
        return self.fields.get("Content-Type", "").partition(";")[0].strip()

    @property
    def status(self) -> str:
        found = _STATUS.match(self.head)
        return found[1].decode() if found else ""


def records(file: BinaryIO, at: int, end: int) -> Iterator[Record]:
    """The records from byte `at` on. Torn if one is damaged."""
    while at < end:
        member = Member(file, at, end)
        head = member.until(b"\r\n\r\n", FIELDS)
        if not _VERSION.match(head):
            raise Torn("not a WARC record")
        block = b""
        while piece := member.read(HEAD):
            if len(block) < HEAD:
                block += piece
        yield Record(dict(_fields(head)), block, at, member.next - at)
        at = member.next


def values(record: Record) -> dict[str, str]:
    """The fields in the block of a metadata record."""
    return dict(_fields(record.block))


def _fields(text: bytes) -> Iterator[tuple[str, str]]:
    for line in text.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(": ")
        if colon:
            yield name, value
