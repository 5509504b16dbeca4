"""Splits robots.txt into records: by RFC 9309, with what real files need (docs/robots.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator

LIMIT = 500 * 1024  # RFC 9309 2.5: at least this much must be parsed
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
    b"content-usage": "content-usage",
    b"content-signal": "content-signal",
    b"license": "license",
}
_LINE = re.compile(rb"[^\r\n]+").finditer


def records(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Field, in its correct spelling, and value of each line that is a record; other lines are skipped."""
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
    """The complete lines within the limit, as UTF-8, without byte order mark."""
    if len(body) > LIMIT:
        body = body[:LIMIT]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    for length in (3, 2, 1):  # a partial mark counts: Google's tests have it
        if body.startswith(BOM[:length]):
            return body[length:]
    return body
