"""Normalises paths and robots.txt patterns so that they can be compared octet by octet (RFC 9309 2.2.2).

Octets that RFC 3986 does not allow in a URI are percent-encoded, encoded unreserved characters are decoded,
hexadecimal digits are upper case. In paths `*` and `$` are encoded too: unencoded, they are wildcards.
"""

from __future__ import annotations

import re

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN = r"A-Za-z0-9._~:/?#\[\]@!&'()+,;=\-"
_ODD_IN_PATH = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_PLAIN}%\x80-\U0010ffff]")
_ODD_IN_PATTERN = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_PLAIN}%*]".encode())


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
    """Whether the pattern is a plain prefix."""
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
    return chr(octet) if octet in _UNRESERVED else f"%{octet:02X}"


def _path_octet(match: re.Match[str]) -> str:
    found = match[0]
    return _octet(int(found[1:], 16)) if len(found) == 3 else f"%{ord(found):02X}"


def _pattern_octet(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return (_octet(int(found[1:], 16)) if len(found) == 3 else f"%{found[0]:02X}").encode()
