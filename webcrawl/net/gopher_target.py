"""Parses a gopher URL (RFC 4266 2)."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from webcrawl.net.authority import LINE_BREAKING, host_port_path, queryless
from webcrawl.net.errors import BadUrl

_URL = queryless("gopher")
# A menu may point to any server with a line of the author's choice, and some servers execute single lines. These are
# the blocked ports of the Fetch Standard 2.9, and those of Redis and memcached, where one line deletes everything.
FOREIGN_PORTS = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109),
        *(110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530),
        *(531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045),
        *(4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
        *(6379, 11211),
    )
)


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
