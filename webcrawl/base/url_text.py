"""URLs as text: their hosts, their ports, and percent-encoding for fields with narrow alphabets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote_from_bytes


@lru_cache(1024)  # a page is asked for its host ten times
def host_of(url: str) -> str:
    """Return a canonical URL's host name or address, without the port; IPv6 keeps its brackets."""
    host = url.split("/", 3)[2]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host.partition(":")[0]


# What browsers' crawlers archive about a page: urn:view: a screenshot, urn:pdf: a PDF, and others
_VIEW = re.compile(r"urn:[A-Za-z-]+:(?=[a-z]+://)")


def is_view(url: str) -> bool:
    """Return whether a record's URL names what shows another page, as a screenshot does."""
    return _VIEW.match(url) is not None


def page_of_view(url: str) -> str:
    """Return the URL of the page that a record is about; that of any other record is itself."""
    return _VIEW.sub("", url, count=1) if url.startswith("urn:") else url


_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def has_scheme(text: str) -> bool:
    """Return whether the text begins with a scheme; another URL may stand within its path."""
    return _SCHEME.match(text) is not None


_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


def address_text(value: bytes) -> str:
    """Return the bytes of an address as text, with percent-encoding of what is not UTF-8.

    Browsers do the same in headers. So a server gets back the bytes that it has sent.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _BEYOND_ASCII.sub(lambda found: quote_from_bytes(found[0]).encode(), value).decode()


_STRANGE = re.compile(r"[^!-~]+")


def visible(text: str) -> str:
    """Return the text as ASCII without blanks and control characters; the rest is percent-encoded."""
    # This is true nearly always, and the search is slower
    is_visible = text.isascii() and text.isprintable() and " " not in text
    if is_visible:
        return text
    return _STRANGE.sub(encoded, text)


def encoded(match: re.Match[str]) -> str:
    """Return the matched characters, percent-encoded."""
    return quote_from_bytes(match[0].encode("utf-8", "surrogatepass"), safe="")


# Port 0, on which no server can listen; and the Fetch Standard's bad ports (2.9).
_BAD = """
    0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113
    115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554
    556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665
    6666 6667 6668 6669 6679 6697 10080
"""
BAD = frozenset(map(int, _BAD.split()))
FTP = 21
# A menu's author chooses the line that a Gopher client sends, and many servers execute one line:
# Docker, MySQL, Redis, printers, work queues. No list of them is complete, so these are the only
# ports.
GOPHER = frozenset((70, 71, 72, 73, 1070, 7070, 7071))
SYSTEM = 1024  # RFC 6335 6: ports below are for services, not for one transfer


class Ports:
    """Decides by scheme and port; ports in `allowed` are open to every scheme.

    No link makes the crawler speak to a mail server, a shell or a database.
    """

    def __init__(self, allowed: Iterable[range] = ()) -> None:
        self._allowed = tuple(allowed)
        # Each URL is checked once more when its turn has come
        self._allows = lru_cache(1024)(self._allow_authority)

    def allow(self, scheme: str, port: int) -> bool:
        """Return whether a server may be requested on this port."""
        is_gopher = scheme == "gopher"
        if port not in BAD and not is_gopher:
            return True
        if any(port in ports for ports in self._allowed):
            return True
        if is_gopher:
            return port in GOPHER
        # The port of FTP is among the bad ones: nothing else may speak to such a server
        return scheme == "ftp" and port == FTP

    def allow_url(self, url: str) -> bool:
        """Return whether the port in a canonical URL, or that of its scheme, is allowed."""
        authority = url.split("/", 3)[2]
        return ":" not in authority or self._allows(url.partition(":")[0], authority)

    def _allow_authority(self, scheme: str, authority: str) -> bool:
        digits = authority.rpartition(":")[2]
        return not digits.isdigit() or self.allow(scheme, int(digits))

    def allow_data(self, port: int) -> bool:
        """Return whether an FTP server may name this port for a transfer."""
        return port >= SYSTEM and self.allow("ftp", port)
