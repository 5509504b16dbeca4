"""Gopher menus (RFC 1436 3.4-3.8): items, and the URLs of those that lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from webcrawl.net.authority import host_port

MENU = "text/x-gopher-menu"
# Text of the menu itself, an error, the same again elsewhere, a form to fill in, and what needs another protocol:
# phone books (2), telnet (8, T).
NO_LINKS = frozenset("i3+728T")
_MAX_LINE = 8192
# Each label's end is plain to see: were its dot optional within the repetition, 30 letters would take for ever.
_HOST = re.compile(r"[0-9A-Za-z_-]{1,63}(?:\.[0-9A-Za-z_-]{1,63}){0,126}\.?|\[?[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,44}\]?")
_PORT = re.compile(rb" *([0-9]{1,5}) *")
_STEPS = re.compile(rb"(?:\A|/)\.\.?(?:/|\Z)")  # a URL cannot keep these, encoded or not: it would lead elsewhere
_SAFE = "/~!$&'()*+,;=:@"  # what a path may have; all else is percent-encoded, a `?` and a `%` above all


class Item(NamedTuple):
    """One line of a menu."""

    kind: str
    display: bytes
    selector: bytes
    host: bytes
    port: bytes


def items(menu: bytes) -> Iterator[Item]:
    """Up to the line that has nothing but a dot, or the end; lines that are no items are left out."""
    for raw in menu.split(b"\n"):
        line = raw.removesuffix(b"\r")
        if line == b".":
            return
        fields = line.split(b"\t", 4)  # what follows the port is Gopher+'s
        if len(fields) >= 4 and fields[0] and len(line) <= _MAX_LINE:
            yield Item(chr(fields[0][0]), fields[0][1:], fields[1], fields[2], fields[3])


def item_url(item: Item) -> str:
    """Where an item leads; empty if nowhere that a crawl can go."""
    if item.kind in NO_LINKS or not "!" <= item.kind <= "~":
        return ""
    if item.kind == "h":  # the gopher community's way to the web: no selector but a URL
        url = item.selector.removeprefix(b"/")
        if url[:4].upper() == b"URL:":
            return url[4:].decode("utf-8", "replace")
    if _STEPS.search(item.kind.encode() + item.selector):
        return ""
    host, port = item.host.strip().decode("latin-1"), _PORT.fullmatch(item.port)
    if not _HOST.fullmatch(host) or port is None or not 0 < int(port[1]) < 65536:
        return ""
    place = host_port(host.strip("[]"), int(port[1]))
    return f"gopher://{place}/{quote(item.kind, safe='')}{quote(item.selector, safe=_SAFE)}"


def is_refusal(answer: bytes) -> bool:
    """Whether an answer is nothing but an error: Gopher has no status, only items of type 3."""
    if not answer.startswith(b"3") or len(answer) > _MAX_LINE:
        return False
    lines = [line for line in answer.split(b"\n") if line.strip(b"\r.")]
    found = list(items(answer))
    return len(found) == len(lines) and all(item.kind in "3i" for item in found)
