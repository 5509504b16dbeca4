"""robots.txt as bytes, to its records: what RFC 9309 says, and what real files need (docs/robots.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator

LIMIT = 500 * 1024  # RFC 9309 2.5: at least this much is read
BOM = b"\xef\xbb\xbf"
SPELLINGS = {
    b"user-agent": "user-agent",
    b"useragent": "user-agent",
    b"user agent": "user-agent",
    b"allow": "allow",
    b"disallow": "disallow",
    b"dissallow": "disallow",
    b"dissalow": "disallow",
    b"disalow": "disallow",
    b"diasllow": "disallow",
    b"disallaw": "disallow",
    b"crawl-delay": "crawl-delay",
    b"crawldelay": "crawl-delay",
    b"sitemap": "sitemap",
    b"site-map": "sitemap",
}
_LINE = re.compile(rb"[^\r\n]+").finditer


def records(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Field and value of each line that is a record, the field in the right spelling; no other line is there."""
    for match in _LINE(_text(body)):
        line = match[0].partition(b"#")[0].strip()
        field, colon, value = line.partition(b":")
        if not colon:
            words = line.split()
            if len(words) != 2:
                continue
            field, value = words
        kind = SPELLINGS.get(field.strip().lower())
        if kind is not None:
            yield kind, value.strip()


def _text(body: bytes) -> bytes:
    """The lines that are whole within the limit, in UTF-8, without the mark that may begin it."""
    if len(body) > LIMIT:
        body = body[:LIMIT]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    for length in (3, 2, 1):  # half a mark is one too: Google's tests have it
        if body.startswith(BOM[:length]):
            return body[length:]
    return body
