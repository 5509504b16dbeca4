"""All that is said of a page, from robots.txt, the answer's headers and the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webcrawl.content.preferences.answer_preferences import META_RESERVATION
from webcrawl.content.preferences.purpose_bits import combined
from webcrawl.content.preferences.statement import DOCUMENT, EARLIER, HEADER, NONE, Preferences, Statement


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
