"""Gopher menus (RFC 1436 3.4-3.8): items, and the URLs they link to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from webcrawl.base.url_text import address_text
from webcrawl.net.host_port import host_port

MENU = "text/x-gopher-menu"
# Menu text (i), errors (3), mirrors (+), search forms (7), and other protocols: phone books (2), telnet (8, T).
NO_LINKS = frozenset("i3+728T")
_MAX_LINE = 8192
# Labels are delimited unambiguously: with an optional dot inside the repetition, 30 letters would backtrack forever.
_HOST = re.compile(r"[0-9A-Za-z_-]{1,63}(?:\.[0-9A-Za-z_-]{1,63}){0,126}\.?|\[?[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,44}\]?")
_PORT = re.compile(rb" *([0-9]{1,5}) *")
_STEPS = re.compile(rb"(?:\A|/)\.\.?(?:/|\Z)")  # a URL cannot contain these, encoded or not: they would be resolved
_SAFE = "/~!$&'()*+,;=:@"  # allowed in a path; all else is percent-encoded, above all `?` and `%`


class Item(NamedTuple):
    """One line of a menu."""

    kind: str
    display: bytes
    selector: bytes
    host: bytes
    port: bytes


def items(menu: bytes) -> Iterator[Item]:
    """The items up to a line with only a dot, or the end; other lines are skipped."""
    for raw in menu.split(b"\n"):
        line = raw.removesuffix(b"\r")
        if line == b".":
            return
        fields = line.split(b"\t", 4)  # after the port come Gopher+ fields
        if len(fields) >= 4 and fields[0] and len(line) <= _MAX_LINE:
            yield Item(chr(fields[0][0]), fields[0][1:], fields[1], fields[2], fields[3])


def item_url(item: Item) -> str:
    """The URL of an item; empty if a crawl cannot follow it."""
    if item.kind in NO_LINKS or not "!" <= item.kind <= "~":
        return ""
    if item.kind == "h":  # Gopher's convention for web links: a URL as selector
        url = item.selector.removeprefix(b"/")
        if url[:4].upper() == b"URL:":
            return address_text(url[4:])
    if _STEPS.search(item.kind.encode() + item.selector):
        return ""
    host, port = item.host.strip().decode("latin-1"), _PORT.fullmatch(item.port)
    if not _HOST.fullmatch(host) or port is None or not 0 < int(port[1]) < 65536:
        return ""
    place = host_port(host.strip("[]"), int(port[1]))
    return f"gopher://{place}/{quote(item.kind, safe='')}{quote(item.selector, safe=_SAFE)}"


def is_refusal(answer: bytes) -> bool:
    """True if an answer is only an error: Gopher has no status, only items of type 3."""
    if not answer.startswith(b"3") or len(answer) > _MAX_LINE:
        return False
    lines = [line for line in answer.split(b"\n") if line.strip(b"\r.")]
    found = list(items(answer))
    return len(found) == len(lines) and all(item.kind in "3i" for item in found)
