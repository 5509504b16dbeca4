"""One WARC record as one gzip member, so that each can be read without those before it."""

from __future__ import annotations

from isal import isal_zlib

LEVEL = 2  # isal's: docs/warc.md has the figures
# For a small record level 2 fills tables of some hundred KB, and pushes everybody else's out of the processor's cache:
# 5 % of a page's cost, for 300 bytes a page.
SMALL, FAST = 4096, 0
GZIP = 31  # zlib's number for a gzip member with the largest window
HTTP_REQUEST = "Content-Type: application/http; msgtype=request\r\n"
HTTP_RESPONSE = "Content-Type: application/http; msgtype=response\r\n"
WARC_FIELDS = "Content-Type: application/warc-fields\r\n"


def member(
    version: str, kind: str, named: str, digest: str, content_type: str, block: bytes, rest: bytes = b""
) -> bytes:
    """The record of these lines of named fields and this block, in one part or two, compressed."""
    size = len(block) + len(rest)
    head = (
        f"WARC/{version}\r\nWARC-Type: {kind}\r\n{named}WARC-Block-Digest: {digest}\r\n"
        f"{content_type}Content-Length: {size}\r\n\r\n"
    )
    level = LEVEL if size > SMALL else FAST
    return isal_zlib.compress(b"".join((head.encode(), block, rest, b"\r\n\r\n")), level, GZIP)
