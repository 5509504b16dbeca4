"""The preferences that are stated of a page: in robots.txt, in the answer's headers, and in its
document.

Their vocabularies are robots words, Content-Signal, TDMRep, Content-Usage, and licences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from webcrawl.content.html.link_kinds import LICENSE, Said
from webcrawl.content.html.shown_text import resolved
from webcrawl.content.purpose_bits import (
    DOCUMENT,
    EARLIER,
    HEADER,
    NOARCHIVE,
    NOFOLLOW,
    NOIMAGEAI,
    NOINDEX,
    NONE,
    Preferences,
    Statement,
    allows,
    combined,
    forbids,
    prohibitions,
)

_KEY = rb"[a-z*][a-z0-9_\-.*]*+"
_TOKEN = rb"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*+"
_BARE = b"|".join(
    (
        rb"-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})(?![0-9.])",
        rb'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*+"',
        _TOKEN,
        rb":[A-Za-z0-9+/=]*+:",
        rb"\?[01]",
        rb"@-?[0-9]{1,15}(?![0-9.])",
        rb'%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*+"',
    )
)
_PARAMETERS = rb"(?:; *+" + _KEY + rb"(?:=(?:" + _BARE + rb"))?)*+"
_ITEM = rb"(?:" + _BARE + rb")" + _PARAMETERS
_LIST = rb"\( *+(?:" + _ITEM + rb"(?: ++|(?=\))))*+\)" + _PARAMETERS
_comma = re.compile(rb"[ \t]*+,[ \t]*+").match


@cache
def _member() -> re.Pattern[bytes]:
    """One key and its value; on first use, for few sites send dictionaries, and compiling this
    takes milliseconds.
    """
    return re.compile(
        rb"("
        + _KEY
        + rb")(?:=(?:("
        + _TOKEN
        + rb")"
        + _PARAMETERS
        + rb"|"
        + _ITEM
        + rb"|"
        + _LIST
        + rb")|"
        + _PARAMETERS
        + rb")"
    )


def tokens(value: bytes) -> dict[bytes, bytes] | None:
    """The value of each key that is a token, empty for any other value; None if this is no
    dictionary.

    Of two equal keys the last counts (4.2.2).
    """
    value = value.strip(b" ")
    found: dict[bytes, bytes] = {}
    match, at = _member().match, 0
    while at < len(value):
        member = match(value, at)
        if member is None:
            return None
        found[member[1]] = member[2] or b""
        at = member.end()
        if at == len(value):
            return found
        comma = _comma(value, at)
        if comma is None or comma.end() == len(value):
            return None
        at = comma.end()
    return found


LONGEST = 500  # characters
RSL = "application/rsl+xml"


def address(value: str) -> str:
    """The address as it was written, if it is an absolute one on the web; empty otherwise."""
    found = value.strip()
    known = found[:8].lower().startswith(("http://", "https://"))
    return (
        found
        if known and len(found) <= LONGEST and found.isprintable() and " " not in found
        else ""
    )


_WITH_VALUES = frozenset(
    ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
)


def robots_tag_directives(
    headers: Iterable[tuple[bytes, bytes]], agent: str = ""
) -> frozenset[str]:
    """Return the directives for all crawlers and for the crawler of this name, in lower case.

    One that begins with a crawler's name and a colon is for that crawler alone, and so is all
    behind it in its header, up to the next name. The name may have a version, as in User-Agent; `*`
    is everybody's.
    """
    found: set[str] = set()
    named = {"*", agent.lower()} - {""}
    for name, value in headers:
        if name.lower() == b"x-robots-tag":
            ours = True
            for word in value.decode("latin-1").lower().split(","):
                before, colon, after = word.partition(":")
                if colon and _is_name(before.strip()):
                    ours, word = before.partition("/")[0].strip() in named, after  # noqa: PLW2901
                if ours:
                    found.add(word.strip())
    return frozenset(found - {""})


def _is_name(text: str) -> bool:
    """Return whether this is no directive with a value, nor the part of a date between a comma and
    its minutes.
    """
    return text not in _WITH_VALUES and not text.isdecimal() and len(text.split()) < 2


WORDS = {
    "noindex": NOINDEX,
    "nofollow": NOFOLLOW,
    "none": NOINDEX | NOFOLLOW,
    "noarchive": NOARCHIVE,
    "nocache": NOARCHIVE,
    "noai": forbids("train-ai", "ai-input"),
    "noimageai": NOIMAGEAI,
}

_BETWEEN = re.compile(r"[\s;]+")


def robots_statement(words: Iterable[str], *, image: bool = False) -> int:
    """Return what these words, in lower case, say. `image`: of an image, which noimageai is about.

    Some owners put blanks or semicolons between words where commas belong: what they mean is plain.
    """
    said = 0
    for word in words:
        for one in _BETWEEN.split(word):
            said |= WORDS.get(one, 0)
    return said | WORDS["noai"] if image and said & NOIMAGEAI else said


SIGNALS = {b"search": "search", b"ai-input": "ai-input", b"ai-train": "train-ai"}
_SIGNAL_SAYS = {b"yes": allows, b"no": forbids}


def signal_statement(value: bytes) -> int:
    """Return what `search=yes, ai-train=no` says, in any case.

    Other signals, such as `use`, name no purpose.
    """
    said = 0
    for part in value.lower().split(b","):
        name, _, word = part.partition(b"=")
        name, word = name.strip(), word.strip()
        if name in SIGNALS and word in _SIGNAL_SAYS:
            said |= _SIGNAL_SAYS[word](SIGNALS[name])
    return said


MINING = ("research", "train-ai", "ai-input")
_TDM_SAYS = {"1": forbids(*MINING), "0": allows(*MINING)}


def tdm_statement(value: str) -> int:
    """Return what a reservation says. Any value but 0 and 1 is an error, and counts as none."""
    return _TDM_SAYS.get(value.strip(), 0)


# Labels are case-sensitive, and unknown ones are ignored, as those of earlier revisions now are
# (6.4)
LABELS = {b"train-ai": "train-ai", b"ai-use": "ai-input", b"search": "search"}
_USAGE_SAYS = {b"y": allows, b"n": forbids}


def usage_statement(value: bytes) -> int | None:
    """Return what it says: nothing of a label whose value is neither `y` nor `n`.

    None if it is no dictionary.
    """
    found = tokens(value)
    if found is None:
        return None
    said = 0
    for label, token in found.items():
        if label in LABELS and token in _USAGE_SAYS:
            said |= _USAGE_SAYS[token](LABELS[label])
    return said


def usage_of_lines(lines: Sequence[bytes]) -> int:
    """Return what the lines of a header say: together they are one dictionary.

    Where they are none, because one is empty or broken, all of the field says nothing to the
    drafts. But what a whole line of it forbids was said by somebody: that counts, and what it
    allows does not (docs/preferences.md).
    """
    said = usage_statement(b", ".join(lines))
    if said is not None:
        return said
    return combined(prohibitions(usage_statement(line) or 0) for line in lines)


META_RESERVATION, META_POLICY, META_ROBOTS = "tdm-reservation", "tdm-policy", "robots"
NAMES = frozenset((META_RESERVATION, META_POLICY))  # of meta elements, beside `robots`
LICENSES = 8


def of_document(words: Collection[str], more: Collection[Said], base: str) -> Preferences:
    """`words`: of robots meta elements; `more`: name and content of others, and addresses of
    licences.
    """
    said = {META_ROBOTS: robots_statement(words)}
    policy = ""
    licenses: dict[str, None] = {}
    for name, content in more:
        if name == LICENSE:
            licenses[address(resolved(content, base))] = None
        elif name == META_POLICY:
            policy = policy or address(content)
        elif name == META_RESERVATION:
            said[name] = said.get(name, 0) | tdm_statement(content)
        else:  # the crawler's own name
            directives = [part.strip() for part in content.lower().split(",")]
            said[name] = said.get(name, 0) | robots_statement(directives)
    licenses.pop("", None)  # what is no address
    known = tuple(licenses)[:LICENSES]
    statements = tuple(Statement(DOCUMENT, name, one) for name, one in said.items() if one)
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
        USAGE: usage_of_lines(lines.get(USAGE, ())),
        SIGNAL: signal_statement(b",".join(lines.get(SIGNAL, ()))),
        RESERVATION: _reservation(lines.get(RESERVATION, ())),
    }
    if ROBOTS_TAG in lines:
        said[ROBOTS_TAG] = robots_statement(robots_tag_directives(headers, agent), image=image)
    statements = tuple(Statement(HEADER, name.decode(), one) for name, one in said.items() if one)
    policies = [
        found for value in lines.get(POLICY, ()) if (found := address(value.decode("latin-1")))
    ]
    licenses = _licenses(b", ".join(lines.get(LINK, ())), url)
    if not (statements or policies or licenses):
        return NONE
    return Preferences(statements, licenses, policies[0] if policies else "")


def _reservation(values: Sequence[bytes]) -> int:
    """Return the most restrictive of several values."""
    said = 0
    for value in values:
        said |= tdm_statement(value.decode("latin-1"))
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
    """The word of a host's robots.txt on one URL, and the name by which owners speak to this
    crawler.
    """

    statements: tuple[Statement, ...] = ()
    licenses: tuple[str, ...] = ()
    agent: str = ""


NO_WORD = RobotsWord()


def joined(robots: RobotsWord, header: Preferences, document: Preferences) -> Preferences:
    """Each source keeps its statements: the most restrictive applies. NONE, if there are none.

    But a TDM reservation in a document supersedes the one of the headers (TDMRep, processing
    priority).
    """
    statements = header.statements
    if any(one.field == META_RESERVATION for one in document.statements):
        statements = tuple(one for one in statements if one.field != META_RESERVATION)
    found = Preferences(
        (*robots.statements, *statements, *document.statements),
        tuple(dict.fromkeys((*robots.licenses, *header.licenses, *document.licenses))),
        document.policy or header.policy,
    )
    return found or NONE


def kept(statements: Sequence[Statement]) -> tuple[int, int]:
    """Return what is kept of a page until it is fetched again: what its headers said, and what the
    document.

    robots.txt speaks for itself.
    """
    if not statements:
        return 0, 0
    header = combined(one.said for one in statements if HEADER in (one.source, one.field))
    return header, combined(one.said for one in statements if DOCUMENT in (one.source, one.field))


def earlier(said: int, source: str) -> Preferences:
    """Return what was kept of the answer before, of its headers or of the document."""
    return Preferences((Statement(EARLIER, source, said),)) if said else NONE
