"""The headers that hold addresses: Link (RFC 8288), and Refresh, which browsers obey as they do the document's."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webcrawl.base.url_text import address_text
from webcrawl.content.formats.document_kinds import HUB
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.found_links import FoundLink

MOST = 1000  # links of one answer
LONGEST = 1 << 16  # characters of all its Link headers
NAMES = frozenset({b"link", b"refresh"})  # in lower case
_LENGTHS = frozenset(map(len, NAMES))
_TARGET = re.compile(r"[\s,]*<([^>]*)>")
_PARAMETER = re.compile(
    r"""\s*;\s*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]++)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"?|([^\s;,"]*+)))?)?""", re.DOTALL
)
_REST = re.compile(r"""(?:"(?:[^"\\]|\\.)*+"?|[^,"])*+""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def links(headers: Iterable[tuple[bytes, bytes]]) -> list[FoundLink]:
    """The links of an answer's headers, relative to the URL of the answer, not to the document's base."""
    named = [one for one in headers if len(one[0]) in _LENGTHS and one[0].lower() in NAMES]  # twice as fast
    if not named:
        return []
    found: list[FoundLink] = []
    values = [value for name, value in named if len(name) == len("link")]
    if len(values) < len(named):
        first = next(value for name, value in named if len(name) != len("link"))
        forward = refresh(address_text(first[:LONGEST]))
        if forward and forward[1]:
            found.append(("refresh", forward[1], "", ""))
    text = address_text(b", ".join(values)[:LONGEST])
    at = 0
    while len(found) < MOST and (target := _TARGET.match(text, at)):
        parameters, at = _parameters(text, target.end())
        rel = parameters.get("rel", "")
        found.append((_kind(rel.lower().split(), parameters), target[1].strip(), parameters.get("title", ""), rel))
        at = _REST.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
    return found


def _kind(rels: list[str], parameters: dict[str, str]) -> str:
    """A canonical address is this document's only if no other context is named."""
    if HUB in rels:
        return HUB
    return "canonical" if "canonical" in rels and "anchor" not in parameters else "header"


def _parameters(text: str, at: int) -> tuple[dict[str, str], int]:
    """Those behind a target, the first of each name, and where they end."""
    found: dict[str, str] = {}
    while match := _PARAMETER.match(text, at):
        if match[1]:
            value = _ESCAPE.sub(r"\1", match[2]) if match[2] is not None else match[3] or ""
            found.setdefault(match[1].lower(), value)
        at = match.end()
    return found, at
