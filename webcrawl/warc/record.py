"""One WARC record as one gzip member, so that each can be read without those before it."""

from __future__ import annotations

from hashlib import sha1

from isal import isal_zlib

from webcrawl.digest import label
from webcrawl.warc.fields import line

LEVEL = 2  # isal's: docs/warc.md has the figures
# For a small record level 2 fills tables of some hundred KB, and pushes everybody else's out of the processor's cache:
# 5 % of a page's cost, for 300 bytes a page.
SMALL, FAST = 4096, 0
GZIP = 31  # zlib's number for a gzip member with the largest window
HTTP = "application/http; msgtype="
WARC_FIELDS = "application/warc-fields"


def member(version: str, kind: str, named: str, content_type: str, *block: bytes) -> bytes:
    """The record of these lines of named fields and this block, compressed; its block digest and length are added."""
    digest = sha1(usedforsecurity=False)
    for part in block:
        digest.update(part)
    size = sum(map(len, block))
    head = (
        f"WARC/{version}\r\nWARC-Type: {kind}\r\n{named}WARC-Block-Digest: {label(digest.digest())}\r\n"
        f"{line('Content-Type', content_type) if size else ''}Content-Length: {size}\r\n\r\n"
    )
    level = LEVEL if size > SMALL else FAST
    return isal_zlib.compress(b"".join((head.encode(), *block, b"\r\n\r\n")), level, GZIP)
