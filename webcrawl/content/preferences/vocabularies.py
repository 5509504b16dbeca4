"""The vocabularies of owners' preferences: robots words, Content-Signal, TDMRep, Content-Usage, and licences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from webcrawl.content.preferences.purpose_bits import (
    NOARCHIVE,
    NOFOLLOW,
    NOIMAGEAI,
    NOINDEX,
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
    """One key and its value; on first use, for few sites send dictionaries, and compiling this takes milliseconds."""
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
    """The value of each key that is a token, empty for any other value; None if this is no dictionary.

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
    return found if known and len(found) <= LONGEST and found.isprintable() and " " not in found else ""


_WITH_VALUES = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))


def robots_tag_directives(headers: Iterable[tuple[bytes, bytes]], agent: str = "") -> frozenset[str]:
    """Those that hold for all crawlers, and for the one of this name if there is one, in lower case.

    One that begins with a crawler's name and a colon is for that crawler alone, and so is all behind it in its header,
    up to the next name. The name may have a version, as in User-Agent; `*` is everybody's.
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
    """Return whether this is no directive with a value, nor the part of a date between a comma and its minutes."""
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
    """Return what `search=yes, ai-train=no` says, in any case. Other signals, such as `use`, name no purpose."""
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


# Labels are case-sensitive, and unknown ones are ignored, as those of earlier revisions now are (6.4)
LABELS = {b"train-ai": "train-ai", b"ai-use": "ai-input", b"search": "search"}
_USAGE_SAYS = {b"y": allows, b"n": forbids}


def usage_statement(value: bytes) -> int | None:
    """Return what it says: nothing of a label whose value is neither `y` nor `n`. None if it is no dictionary."""
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

    Where they are none, because one is empty or broken, all of the field says nothing to the drafts. But what a whole
    line of it forbids was said by somebody: that counts, and what it allows does not (docs/preferences.md).
    """
    said = usage_statement(b", ".join(lines))
    if said is not None:
        return said
    return combined(prohibitions(usage_statement(line) or 0) for line in lines)
