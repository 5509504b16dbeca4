"""What the headers of an answer say of its use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webcrawl.html.lookup import resolved
from webcrawl.html.robots_tag import directives
from webcrawl.preferences import meta_robots, signal, tdm, usage
from webcrawl.preferences.addresses import RSL, address
from webcrawl.preferences.statement import HEADER, NONE, Preferences, Statement

Headers = Sequence[tuple[bytes, bytes]]
USAGE, SIGNAL, ROBOTS_TAG, RESERVATION, POLICY, LINK = (
    b"content-usage",
    b"content-signal",
    b"x-robots-tag",
    b"tdm-reservation",
    b"tdm-policy",
    b"link",
)
FIELDS = frozenset((USAGE, SIGNAL, ROBOTS_TAG, RESERVATION, POLICY, LINK))
LICENSES = 8
_link = re.compile(r"<([^<>]*)>([^<]*)").finditer


def of_headers(headers: Headers, url: str, agent: str = "", *, image: bool = False) -> Preferences:
    """`agent` is the crawler's product token, by which X-Robots-Tag may name it."""
    lines: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        known = name.lower()
        if known in FIELDS:
            lines.setdefault(known, []).append(value)
    said = {
        USAGE: usage.of_lines(lines.get(USAGE, ())),
        SIGNAL: signal.statement(b",".join(lines.get(SIGNAL, ()))),
        RESERVATION: _reservation(lines.get(RESERVATION, ())),
    }
    if ROBOTS_TAG in lines:
        said[ROBOTS_TAG] = meta_robots.statement(directives(headers, agent), image=image)
    statements = tuple(Statement(HEADER, name.decode(), one) for name, one in said.items() if one)
    policies = [found for value in lines.get(POLICY, ()) if (found := address(value.decode("latin-1")))]
    licenses = _licenses(b", ".join(lines.get(LINK, ())), url)
    if not (statements or policies or licenses):
        return NONE
    return Preferences(statements, licenses, policies[0] if policies else "")


def _reservation(values: Sequence[bytes]) -> int:
    """Of several the most restrictive."""
    said = 0
    for value in values:
        said |= tdm.statement(value.decode("latin-1"))
    return said


def _licenses(value: bytes, url: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    if RSL.encode() in value.lower():
        for match in _link(value.decode("latin-1")):
            words = re.split(r"[\s;,=\"]+", match[2].lower())
            target = address(resolved(match[1], url)) if "license" in words and RSL in words else ""
            if target and len(found) < LICENSES:
                found[target] = None
    return tuple(found)
