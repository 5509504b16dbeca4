"""WARC files, record by record, as far as the last checkpoint noted them (docs/warc.md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO

from webcrawl.store.errors import DamagedFile
from webcrawl.text.digest import label
from webcrawl.verify.members import Member, Torn, find

LONGEST = 1 << 20  # bytes of a record's head; its fields are some URLs
VERSION = re.compile(rb"WARC/1\.[01]\r\n")
FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\r\n]+)")
MANDATORY = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length", "WARC-Block-Digest"}
END_OF_HEAD = re.compile(rb"\n\r?\n")  # RFC 9112 2.2: a single LF may end a line
HEAD = 1 << 16  # bytes of an answer's head at the most


def check_archive(path: Path, file: BinaryIO, length: int, found: Counter[str]) -> Iterator[DamagedFile]:
    """Each record that is not what its writer made; what follows a damaged one is looked for and read."""
    at, info, first = 0, "", True
    while at < length:
        try:
            member = Member(file, at, length)
            fields = _record(member)
            info = _place(fields, info, first=first)
            found["records"] += 1
            at = member.next
        except Torn as torn:
            yield DamagedFile(path, at, str(torn))
            at = _next(file, at + 1, length)
            info = info or "?"
        first = False


def _place(fields: dict[str, str], info: str, *, first: bool) -> str:
    """The file's warcinfo; every other record names it."""
    if first is not (fields["WARC-Type"] == "warcinfo"):
        raise Torn("the file does not begin with a warcinfo record" if first else "a second warcinfo record")
    if not first and fields.get("WARC-Warcinfo-ID") != info and info != "?":
        raise Torn(f"WARC-Warcinfo-ID: {fields.get('WARC-Warcinfo-ID')} in the file of {info}")
    return fields["WARC-Record-ID"] if first else info


def _next(file: BinaryIO, at: int, end: int) -> int:
    """Where the next record begins, found by its first bytes: the magic alone is in 16 million bytes once by chance."""
    while (at := find(file, at, end)) < end:
        try:
            Member(file, at, end).until(b"\r\n", len("WARC/1.1\r\n"))
        except Torn:
            at += 1
        else:
            return at
    return end


def _record(member: Member) -> dict[str, str]:
    """Its fields; Torn if anything in it is wrong."""
    fields = _fields(member.until(b"\r\n\r\n", LONGEST))
    kind, wanted = fields["WARC-Type"], fields.get("WARC-Payload-Digest", "")
    block, payload = _digests(member, int(fields["Content-Length"]), with_head=kind == "response")
    if block != fields["WARC-Block-Digest"]:
        raise Torn("its block digest")
    if wanted and kind in ("response", "resource") and payload != wanted:  # a revisit has no payload
        raise Torn("its payload digest")
    if member.until(b"\r\n\r\n", 4) != b"\r\n\r\n" or member.read(1):
        raise Torn("more bytes than its Content-Length")
    return fields


def _digests(member: Member, length: int, *, with_head: bool) -> tuple[str, str]:
    """Of the block, and of what follows the head in it."""
    block, payload, head, left = sha1(usedforsecurity=False), sha1(usedforsecurity=False), b"", length
    while left:
        piece = member.read(left)
        if not piece:
            raise Torn(f"{left} bytes less than its Content-Length")
        left -= len(piece)
        block.update(piece)
        if with_head:
            head += piece
            if left and len(head) < HEAD:
                continue
            with_head, piece = False, head[_head(head) :]
        payload.update(piece)
    return label(block.digest()), label(payload.digest())


def _fields(head: bytes) -> dict[str, str]:
    version = VERSION.match(head)
    if version is None:
        raise Torn("no WARC record")
    try:
        lines = head[version.end() : -4].decode().split("\r\n")
    except UnicodeDecodeError as error:
        raise Torn(f"its fields: {error}") from error
    matches = [FIELD.fullmatch(line) for line in lines]
    fields = {match[1]: match[2] for match in matches if match is not None}
    missing = MANDATORY - set(fields)
    if None in matches or missing or not fields["Content-Length"].isdecimal():
        raise Torn(f"its fields: {', '.join(sorted(missing)) or 'one is none, or no Content-Length'}")
    return fields


def _head(block: bytes) -> int:
    """How many bytes of an answer are its head."""
    end = END_OF_HEAD.search(block)
    return end.end() if end is not None else len(block)
