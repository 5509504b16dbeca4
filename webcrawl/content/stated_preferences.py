"""The preferences that are stated of a page: in robots.txt, headers and document.

The vocabularies are robots words, Content-Signal, TDMRep, Content-Usage, and licences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from webcrawl.base.possessive import compile_possessive
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
    PreferenceStatement,
    allows,
    combined,
    forbids,
    prohibitions,
)

# The grammar of RFC 9651, 3. The library http_sf takes 0.3 s for half a megabyte of `a;`, as a
# robots.txt may have it, and this 0.02; and 163 of 200,000 generated values mean something else to
# it (a tab at the end, bytes that are not base64)
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
    """Return the expression of one key and its value.

    Compiling it takes milliseconds, and few sites send dictionaries: so it is done on first use.
    """
    return compile_possessive(
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
    """Return the tokens of a dictionary by key, or None if this is no dictionary.

    The value is empty for a key whose value is not a token.
    """
    value = value.strip(b" ")
    found: dict[bytes, bytes] = {}
    match = _member().match
    at = 0
    while at < len(value):
        member = match(value, at)
        if member is None:
            return None
        # RFC 9651 4.2.2: the last of equal keys counts
        found[member[1]] = member[2] or b""
        at = member.end()
        if at == len(value):
            return found
        comma = _comma(value, at)
        # A comma at the end makes all of it invalid
        if comma is None or comma.end() == len(value):
            return None
        at = comma.end()
    return found


LONGEST = 500  # characters of an address
RSL = "application/rsl+xml"


def address(value: str) -> str:
    """Return the address as it was written if it is an absolute one on the web, else ""."""
    found = value.strip()
    if len(found) > LONGEST:
        return ""
    is_on_web = found[:8].lower().startswith(("http://", "https://"))
    is_one_word = found.isprintable() and " " not in found
    return found if is_on_web and is_one_word else ""


_WITH_VALUES = frozenset(
    ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
)


def robots_tag_directives(
    headers: Iterable[tuple[bytes, bytes]], agent: str = ""
) -> frozenset[str]:
    """Return the directives for all crawlers and for the crawler of this name, in lower case.

    A directive that begins with a crawler's name and a colon is for that crawler alone, and so are
    all that follow in its header, up to the next name. The name may have a version, as in
    User-Agent. `*` is every crawler's name.
    """
    found: set[str] = set()
    our_names = {"*", agent.lower()} - {""}
    for name, value in headers:
        if name.lower() == ROBOTS_TAG:
            found |= _directives_for(our_names, value.decode("latin-1").lower())
    return frozenset(found - {""})


def _directives_for(names: set[str], value: str) -> set[str]:
    """Return the directives of one header that are for all crawlers, or for one of these names."""
    found = set()
    is_for_us = True
    for part in value.split(","):
        directive = part
        before, colon, after = part.partition(":")
        if colon and _is_name(before.strip()):
            is_for_us = before.partition("/")[0].strip() in names
            directive = after
        if is_for_us:
            found.add(directive.strip())
    return found


def _is_name(text: str) -> bool:
    """Return whether the text before a colon is a crawler's name.

    It may also be a directive with a value, or a date from its comma up to its minutes.
    """
    is_of_date = text.isdecimal() or len(text.split()) > 1
    return text not in _WITH_VALUES and not is_of_date


WORDS = {
    "noindex": NOINDEX,
    "nofollow": NOFOLLOW,
    "none": NOINDEX | NOFOLLOW,
    # Microsoft takes it for a word on training, too. Another crawler's meaning is not adopted
    "noarchive": NOARCHIVE,
    "nocache": NOARCHIVE,
    # Made with training in mind, but its wording is "no AI"
    "noai": forbids("train-ai", "ai-input"),
    "noimageai": NOIMAGEAI,
}

_BETWEEN = re.compile(r"[\s;]+")


def robots_statement(words: Iterable[str], *, image: bool = False) -> int:
    """Return the statement of these words, which are in lower case.

    `image`: they are said of an image, for which noimageai means the same as noai. Some owners
    write blanks or semicolons between words in place of commas: what they mean is plain.
    """
    said = 0
    for word in words:
        for one in _BETWEEN.split(word):
            said |= WORDS.get(one, 0)
    if image and said & NOIMAGEAI:
        return said | WORDS["noai"]
    return said


SIGNALS = {b"search": "search", b"ai-input": "ai-input", b"ai-train": "train-ai"}
_SIGNAL_SAYS = {b"yes": allows, b"no": forbids}


def signal_statement(value: bytes) -> int:
    """Return what a value such as `search=yes, ai-train=no` states, ignoring case.

    Ignore other signals, such as `use`, because they name no purpose.
    """
    said = 0
    for part in value.lower().split(b","):
        before, _, after = part.partition(b"=")
        name = before.strip()
        word = after.strip()
        if name in SIGNALS and word in _SIGNAL_SAYS:
            said |= _SIGNAL_SAYS[word](SIGNALS[name])
    return said


# A reservation covers mining of any kind. Article 4 of the EU's directive 2019/790, which it
# invokes, does not bind research organisations, but a crawl cannot know whether it is one's
MINING = ("research", "train-ai", "ai-input")
_TDM_SAYS = {"1": forbids(*MINING), "0": allows(*MINING)}


def tdm_statement(value: str) -> int:
    """Return the statement of a reservation. A value other than 0 and 1 is ignored as an error."""
    return _TDM_SAYS.get(value.strip(), 0)


# Labels are case-sensitive. Unknown ones are ignored, and so are those of earlier revisions (6.4)
LABELS = {b"train-ai": "train-ai", b"ai-use": "ai-input", b"search": "search"}
_USAGE_SAYS = {b"y": allows, b"n": forbids}


def usage_statement(value: bytes) -> int | None:
    """Return the statement of a dictionary, or None if the value is no dictionary.

    Labels with a value other than `y` and `n` are ignored.
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
    """Return the statement of a header's lines, which are one dictionary together.

    If they are no dictionary, return the prohibitions of those lines that are one by themselves.
    """
    said = usage_statement(b", ".join(lines))
    if said is not None:
        return said
    # RFC 9651 4.2 ignores all lines if one is broken: so a proxy that adds an empty line would take
    # the owner's word back. No draft forbids to err on the owner's side
    return combined(prohibitions(usage_statement(line) or 0) for line in lines)


META_RESERVATION, META_POLICY, META_ROBOTS = "tdm-reservation", "tdm-policy", "robots"
LICENSES = 8  # of one source


def of_document(words: Collection[str], more: Collection[Said], base: str) -> Preferences:
    """Return the preferences that a document states.

    `words` are those of robots meta elements; `more` are names and contents of other meta elements,
    and addresses of licences.
    """
    said = {META_ROBOTS: robots_statement(words)}
    policy = ""
    licenses: dict[str, None] = {}  # in order, each once
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
    licenses.pop("", None)  # licences without an address
    return _preferences(DOCUMENT, said, tuple(licenses)[:LICENSES], policy)


def _preferences(
    source: str, said: Mapping[str, int], licenses: tuple[str, ...], policy: str
) -> Preferences:
    """Return the preferences of a source by what its fields say; NONE if they say nothing."""
    statements = tuple(
        PreferenceStatement(source, name, bits) for name, bits in said.items() if bits
    )
    return Preferences(statements, licenses, policy) or NONE


Headers = Sequence[tuple[bytes, bytes]]
USAGE = b"content-usage"
SIGNAL = b"content-signal"
ROBOTS_TAG = b"x-robots-tag"
RESERVATION = b"tdm-reservation"
POLICY = b"tdm-policy"
LINK = b"link"
FIELDS = frozenset((USAGE, SIGNAL, ROBOTS_TAG, RESERVATION, POLICY, LINK))
_link = re.compile(r"<([^<>]*)>([^<]*)").finditer


def of_headers(headers: Headers, url: str, agent: str = "", *, image: bool = False) -> Preferences:
    """Return the preferences that the headers of an answer from `url` state.

    `agent` is the crawler's product token, by which X-Robots-Tag may name it.
    """
    lines = _lines_by_field(headers)
    said = {
        USAGE: usage_of_lines(lines.get(USAGE, ())),
        SIGNAL: signal_statement(b",".join(lines.get(SIGNAL, ()))),
        RESERVATION: _reservation(lines.get(RESERVATION, ())),
    }
    if ROBOTS_TAG in lines:
        said[ROBOTS_TAG] = robots_statement(robots_tag_directives(headers, agent), image=image)
    return _preferences(
        HEADER,
        {name.decode(): bits for name, bits in said.items()},
        _licenses(b", ".join(lines.get(LINK, ())), url),
        _policy(lines.get(POLICY, ())),
    )


def _lines_by_field(headers: Headers) -> dict[bytes, list[bytes]]:
    """Return the values of the headers that may state preferences, by name in lower case."""
    lines: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in FIELDS:
            lines.setdefault(lower, []).append(value)
    return lines


def _policy(values: Sequence[bytes]) -> str:
    """Return the first of these values that is an address, or an empty string."""
    addresses = (address(value.decode("latin-1")) for value in values)
    return next(filter(None, addresses), "")


def _reservation(values: Sequence[bytes]) -> int:
    """Return the most restrictive of several values."""
    said = 0
    for value in values:
        said |= tdm_statement(value.decode("latin-1"))
    return said


def _licenses(value: bytes, url: str) -> tuple[str, ...]:
    """Return the addresses of RSL licences in a Link header, each once."""
    if RSL.encode() not in value.lower():
        return ()
    found: dict[str, None] = {}
    for match in _link(value.decode("latin-1")):
        words = re.split(r"[\s;,=\"]+", match[2].lower())
        is_license = "license" in words and RSL in words
        if not is_license or len(found) >= LICENSES:
            continue
        license_address = address(resolved(match[1], url))
        if license_address:
            found[license_address] = None
    return tuple(found)


class RobotsWord(NamedTuple):
    """The statements of a host's robots.txt on one URL, and the name that owners know us by."""

    statements: tuple[PreferenceStatement, ...] = ()
    licenses: tuple[str, ...] = ()
    agent: str = ""


NO_WORD = RobotsWord()


def joined(robots: RobotsWord, header: Preferences, document: Preferences) -> Preferences:
    """Return the preferences of all sources; NONE if there are none. Each statement stays."""
    statements = header.statements
    # TDMRep, processing priority: a reservation in the document supersedes that of the headers.
    # Everything else is combined, and the most restrictive applies
    if any(one.field == META_RESERVATION for one in document.statements):
        statements = tuple(one for one in statements if one.field != META_RESERVATION)
    found = Preferences(
        (*robots.statements, *statements, *document.statements),
        tuple(dict.fromkeys((*robots.licenses, *header.licenses, *document.licenses))),
        document.policy or header.policy,
    )
    return found or NONE


def kept(statements: Sequence[PreferenceStatement]) -> tuple[int, int]:
    """Return what is kept until the next fetch: the statements of the headers, of the document."""
    # robots.txt is read anew
    if not statements:
        return 0, 0
    return _said_by(HEADER, statements), _said_by(DOCUMENT, statements)


def _said_by(source: str, statements: Sequence[PreferenceStatement]) -> int:
    """Return what the source said, now or, with EARLIER as its source, of the answer before."""
    return combined(one.said for one in statements if source in (one.source, one.field))


def earlier(said: int, source: str) -> Preferences:
    """Return the preferences that were kept of the answer before, of its headers or document."""
    return Preferences((PreferenceStatement(EARLIER, source, said),)) if said else NONE
