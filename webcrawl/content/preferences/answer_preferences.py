"""The preferences that are stated of a page: in robots.txt, in the answer's headers, and in its document."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from webcrawl.content.html.found_links import LICENSE, Said
from webcrawl.content.html.shown_text import resolved
from webcrawl.content.preferences import vocabularies
from webcrawl.content.preferences.purpose_bits import DOCUMENT, EARLIER, HEADER, NONE, Preferences, Statement, combined
from webcrawl.content.preferences.vocabularies import RSL, address, robots_tag_directives

META_RESERVATION, META_POLICY, META_ROBOTS = "tdm-reservation", "tdm-policy", "robots"
NAMES = frozenset((META_RESERVATION, META_POLICY))  # of meta elements, beside `robots`
LICENSES = 8


def of_document(words: Collection[str], more: Collection[Said], base: str) -> Preferences:
    """`words`: of robots meta elements; `more`: name and content of others, and addresses of licences."""
    said = {META_ROBOTS: vocabularies.robots_statement(words)}
    policy, licenses = "", []
    for name, content in more:
        if name == LICENSE:
            licenses.append(address(resolved(content, base)))
        elif name == META_POLICY:
            policy = policy or address(content)
        elif name == META_RESERVATION:
            said[name] = said.get(name, 0) | vocabularies.tdm_statement(content)
        else:  # the crawler's own name
            said[name] = said.get(name, 0) | vocabularies.robots_statement(
                part.strip() for part in content.lower().split(",")
            )
    statements = tuple(Statement(DOCUMENT, name, one) for name, one in said.items() if one)
    known = tuple(dict.fromkeys(filter(None, licenses)))[:LICENSES]
    return Preferences(statements, known, policy) if statements or known or policy else NONE


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
_link = re.compile(r"<([^<>]*)>([^<]*)").finditer


def of_headers(headers: Headers, url: str, agent: str = "", *, image: bool = False) -> Preferences:
    """`agent` is the crawler's product token, by which X-Robots-Tag may name it."""
    lines: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        known = name.lower()
        if known in FIELDS:
            lines.setdefault(known, []).append(value)
    said = {
        USAGE: vocabularies.usage_of_lines(lines.get(USAGE, ())),
        SIGNAL: vocabularies.signal_statement(b",".join(lines.get(SIGNAL, ()))),
        RESERVATION: _reservation(lines.get(RESERVATION, ())),
    }
    if ROBOTS_TAG in lines:
        said[ROBOTS_TAG] = vocabularies.robots_statement(robots_tag_directives(headers, agent), image=image)
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
        said |= vocabularies.tdm_statement(value.decode("latin-1"))
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


class RobotsWord(NamedTuple):
    """The word of a host's robots.txt on one URL, and the name by which owners speak to this crawler."""

    statements: tuple[Statement, ...] = ()
    licenses: tuple[str, ...] = ()
    agent: str = ""


NO_WORD = RobotsWord()


def joined(robots: RobotsWord, header: Preferences, document: Preferences) -> Preferences:
    """Each source keeps its statements: the most restrictive applies.

    But a TDM reservation in a document supersedes the one of the headers (TDMRep, processing priority).
    """
    statements = header.statements
    if any(one.field == META_RESERVATION for one in document.statements):
        statements = tuple(one for one in statements if one.field != META_RESERVATION)
    return Preferences(
        (*robots.statements, *statements, *document.statements),
        tuple(dict.fromkeys((*robots.licenses, *header.licenses, *document.licenses))),
        document.policy or header.policy,
    )


def kept(statements: Sequence[Statement]) -> tuple[int, int]:
    """Return what is kept of a page until it is fetched again: what its headers said, and what the document.

    robots.txt speaks for itself.
    """
    if not statements:
        return 0, 0
    header = combined(one.said for one in statements if HEADER in (one.source, one.field))
    return header, combined(one.said for one in statements if DOCUMENT in (one.source, one.field))


def earlier(said: int, source: str) -> Preferences:
    """Return what was kept of the answer before, of its headers or of the document."""
    return Preferences((Statement(EARLIER, source, said),)) if said else NONE
