"""Splits robots.txt into records, and normalises paths and patterns so that they can be compared octet by octet.

Records are RFC 9309's, with what real files need (docs/robots.md). In paths and patterns (RFC 9309 2.2.2), octets that
RFC 3986 does not allow in a URI are percent-encoded, all others decoded, but `/`, `?` and `#`, which part a URL unless
they are encoded. Hexadecimal digits are upper case. In paths `*` and `$` are encoded: unencoded, they are wildcards.
"""

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
# Also, in UTF-8, those without a break and without a width: no name of a field has such bytes, no value begins with
# one. A byte order mark in the middle spoils its line, as in Google's reader.
BLANKS = b" \t\x0b\x0c\xc2\xa0\xe2\x80\x8b"
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
        kind = SPELLINGS.get(field.strip(BLANKS).lower())
        if kind is not None:
            yield kind, value.lstrip(BLANKS).rstrip()


def _text(body: bytes) -> bytes:
    """The complete lines within the limit, as UTF-8, without byte order mark."""
    whole = len(body) <= LIMIT
    body = body[:LIMIT]
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):  # half a line may end with a byte of a letter that looks like its end
        body = body.decode("utf-16", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    if not whole:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    for length in (3, 2, 1):  # a partial mark counts: Google's tests have it
        if body.startswith(BOM[:length]):
            return body[length:]
    return body


_PLAIN = r"A-Za-z0-9._~:\[\]@!&'()+,;=\-"  # not `/?#`, which part a URL, nor `*` and `$`
_DECODED = frozenset(octet for octet in range(128) if re.match(f"[{_PLAIN}]", chr(octet)))
_ODD_IN_PATH = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_PLAIN}/?#%\x80-\U0010ffff]")
_ODD_IN_PATTERN = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_PLAIN}/?#%*]".encode())


def path_of(url: str) -> str:
    """Path and query of a canonical URL, normalised."""
    start = url.find("/", url.find("//") + 2)
    path = url[start:] if start > 0 else "/"
    return _ODD_IN_PATH.sub(_path_octet, path) if _ODD_IN_PATH.search(path) else path


def pattern_of(value: bytes) -> str:
    """A rule's value, normalised; empty if no path can match it."""
    if not value.startswith((b"/", b"*")):
        return ""
    anchor = value.endswith(b"$")
    return _ODD_IN_PATTERN.sub(_pattern_octet, value.removesuffix(b"$")).decode() + "$" * anchor


def is_plain(pattern: str) -> bool:
    """True if the pattern is a plain prefix."""
    return "*" not in pattern and not pattern.endswith("$")


def matches(pattern: str, path: str) -> bool:
    """Searches each part between stars at its earliest place, so the time is linear."""
    anchored = pattern.endswith("$")
    first, *middle = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    last = middle.pop() if middle and anchored else ""
    for part in middle:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return not anchored or (path.endswith(last, at) if "*" in pattern else at == len(path))


def _octet(octet: int) -> str:
    return chr(octet) if octet in _DECODED else f"%{octet:02X}"


def _path_octet(match: re.Match[str]) -> str:
    found = match[0]
    return _octet(int(found[1:], 16)) if len(found) == 3 else f"%{ord(found):02X}"


def _pattern_octet(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return (_octet(int(found[1:], 16)) if len(found) == 3 else f"%{found[0]:02X}").encode()
