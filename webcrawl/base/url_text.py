"""URLs as text: the host of one, and percent-encoding for fields in which not every character is allowed."""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes


def host_of(url: str) -> str:
    """The host name or address of a canonical URL, without the port; IPv6 keeps its brackets."""
    host = url.split("/", 3)[2]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host.partition(":")[0]


_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def has_scheme(text: str) -> bool:
    """True if it begins with one: a path may have another URL in it, as that of a proxy or an archive has."""
    return _SCHEME.match(text) is not None


_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


def address_text(value: bytes) -> str:
    """Bytes with an address in them, as text. What is not UTF-8 is percent-encoded, as browsers do it in headers.

    So a server gets back the bytes that it has sent.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _BEYOND_ASCII.sub(lambda found: quote_from_bytes(found[0]).encode(), value).decode()


_STRANGE = re.compile(r"[^!-~]+")


def visible(text: str) -> str:
    """The text as ASCII without blanks and control characters; the rest is percent-encoded."""
    if text.isascii() and text.isprintable() and " " not in text:  # nearly always, and the search is slower
        return text
    return _STRANGE.sub(encoded, text)


def encoded(match: re.Match[str]) -> str:
    """The matched characters, percent-encoded."""
    return quote_from_bytes(match[0].encode("utf-8", "surrogatepass"), safe="")
