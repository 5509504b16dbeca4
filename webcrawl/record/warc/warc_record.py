"""WARC records, each one gzip member, so that a reader can start at any of them. No value can end its field's line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from isal import isal_zlib

from webcrawl.base.digest import sha1
from webcrawl.base.percent_encoding import encoded

# What some reader takes for the end of a line, and what UTF-8 cannot encode. Any other text is allowed (WARC 1.1, 4).
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NOT_IN_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


def fields(values: Mapping[str, str]) -> bytes:
    """One line per name that has a value. The names must be tokens."""
    lines = ""
    for name, value in values.items():
        if value:
            lines += f"{name}: {value if value.isprintable() else _harmless(value)}\r\n"
    return lines.encode()


def line(name: str, value: str) -> str:
    """One field as a line, or nothing if it has no value."""
    return f"{name}: {value if value.isprintable() else _harmless(value)}\r\n" if value else ""


def _harmless(value: str) -> str:
    return _BREAKING.sub(encoded, value)


def named(mapping: Mapping[str, str]) -> dict[str, str]:
    """The mapping with every name made a token."""
    return {
        name if name.isidentifier() and name.isascii() else _NOT_IN_NAME.sub("-", name) or "-": value
        for name, value in mapping.items()
    }


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
        """The SHA-1 of its block."""
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
