"""Parses a gopher URL (RFC 4266 2)."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from webcrawl.net.authority import LINE_BREAKING, host_port_path, queryless
from webcrawl.net.errors import BadUrl

_URL = queryless("gopher")


class GopherTarget(NamedTuple):
    """Where to connect and what to send; `kind` is the item type, one ASCII character."""

    host: str
    port: int
    kind: str
    selector: bytes
    search: bytes | None  # including what Gopher+ appends after another tab

    @property
    def line(self) -> bytes:
        """The request line."""
        return self.selector + (b"" if self.search is None else b"\t" + self.search) + b"\r\n"


def parse_gopher(url: str) -> GopherTarget:
    """Parse an absolute gopher URL; raises BadUrl."""
    host, port, path = host_port_path(url, _URL, 70)
    wanted = unquote_to_bytes(path) or b"1"
    if LINE_BREAKING.search(wanted) or not b" " < wanted[:1] <= b"~":
        raise BadUrl(f"a selector that cannot be sent: {url[:200]!r}")
    selector, tab, search = wanted[1:].partition(b"\t")
    return GopherTarget(host, port, chr(wanted[0]), selector, search if tab else None)
