"""WARC records, each one gzip member, so that a reader can start at any of them."""

from __future__ import annotations

from dataclasses import dataclass

from isal import isal_zlib

from webcrawl.text.digest import sha1

LEVEL = 2  # isal's: docs/warc.md has the figures
# For a small record level 2 fills tables of some hundred KB and evicts everything else from the processor's cache.
# Level 0 saves 5 % of a page's cost, for 300 bytes per page.
SMALL, FAST = 4096, 0
GZIP = 31  # zlib's number for a gzip member with the largest window
HTTP_REQUEST = "Content-Type: application/http; msgtype=request\r\n"
HTTP_RESPONSE = "Content-Type: application/http; msgtype=response\r\n"
HTML = "Content-Type: text/html; charset=utf-8\r\n"  # of a browser's document
WARC_FIELDS = "Content-Type: application/warc-fields\r\n"


@dataclass(slots=True)
class Record:
    """One record before it is written: its fields are whole lines, its block has one part or two."""

    kind: str
    fields: str
    content_type: str
    block: bytes
    rest: bytes = b""
    common: str = ""  # fields that it shares with other records

    def sha1(self) -> bytes:
        """Of its block."""
        return sha1(self.block, self.rest)


def member(version: str, record: Record, digest: str) -> bytes:
    """The compressed record. `digest` is the block's."""
    size = len(record.block) + len(record.rest)
    head = (
        f"WARC/{version}\r\nWARC-Type: {record.kind}\r\n{record.common}{record.fields}WARC-Block-Digest: {digest}\r\n"
        f"{record.content_type}Content-Length: {size}\r\n\r\n"
    )
    level = LEVEL if size > SMALL else FAST
    return isal_zlib.compress(b"".join((head.encode(), record.block, record.rest, b"\r\n\r\n")), level, GZIP)
