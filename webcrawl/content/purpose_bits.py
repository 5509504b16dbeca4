"""The purposes that an owner may allow or forbid, as bits of one small number, and statements of
them.

They are combined by `|`. Five bits say what is allowed, five what is forbidden, and the others are
words of robots meta elements that are recorded as they are. What one statement forbids no other
allows: the drafts' "most restrictive preference applies".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

PURPOSES = ("archive", "search", "research", "train-ai", "ai-input")
_AT = {purpose: 1 << at for at, purpose in enumerate(PURPOSES)}
_SHIFT = len(PURPOSES)
ALL = (1 << _SHIFT) - 1
NOINDEX, NOFOLLOW, NOARCHIVE, NOIMAGEAI = (1 << 2 * _SHIFT + at for at in range(4))
LARGEST = (1 << 2 * _SHIFT + 4) - 1
_WORDS = {NOINDEX: "noindex", NOFOLLOW: "nofollow", NOARCHIVE: "noarchive", NOIMAGEAI: "noimageai"}
# What the words of robots meta elements forbid; nofollow is about links, and noimageai about what a
# page shows
MEANING = {NOINDEX: _AT["search"], NOARCHIVE: _AT["archive"]}


def mask(purposes: Iterable[str]) -> int:
    return sum({_AT[purpose] for purpose in purposes})


def allows(*purposes: str) -> int:
    """The statement that allows these."""
    return mask(purposes)


def forbids(*purposes: str) -> int:
    """The statement that forbids these."""
    return mask(purposes) << _SHIFT


def combined(statements: Iterable[int]) -> int:
    """Return what statements say together."""
    return reduce(or_, statements, 0)


def forbidden(said: int, *, but: int = 0) -> int:
    """The purposes that a statement forbids, as bits; the words of `but` are left out of account."""
    found = said >> _SHIFT & ALL
    for word, purpose in MEANING.items():
        if said & word & ~but:
            found |= purpose
    return found


def prohibitions(said: int) -> int:
    """The statement without what it allows."""
    return said & ~ALL


def allowed(said: int) -> int:
    """The purposes that it allows, as bits."""
    return said & ALL & ~forbidden(said)


def names(bits: int) -> tuple[str, ...]:
    return tuple(purpose for purpose, bit in _AT.items() if bits & bit)


def directives(said: int) -> frozenset[str]:
    return frozenset(word for bit, word in _WORDS.items() if said & bit)


def words(said: int) -> Iterator[str]:
    """A statement as text: `train-ai=n`, `search=y`, `noindex`."""
    no = said >> _SHIFT & ALL
    for purpose, bit in _AT.items():
        if (said | no) & bit:
            yield f"{purpose}={'n' if no & bit else 'y'}"
    yield from (word for bit, word in _WORDS.items() if said & bit)


ROBOTS, HEADER, DOCUMENT, EARLIER = "robots.txt", "header", "document", "earlier"  # who says it


class Statement(NamedTuple):
    """One statement: its source, the field that makes it, and its bits."""

    source: str
    field: str
    said: int

    def __str__(self) -> str:
        return f"{self.source} {self.field} {' '.join(words(self.said))}"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences that an owner states of a page, by whatever way; falsy if there are none.

    Of two statements the more restrictive one applies (draft-ietf-aipref-vocab-08, 5.1).
    """

    statements: tuple[Statement, ...] = ()
    licenses: tuple[str, ...] = ()  # addresses of RSL documents
    policy: str = ""  # address of a TDM policy

    def __bool__(self) -> bool:
        return bool(self.statements or self.licenses or self.policy)

    def __str__(self) -> str:
        """All of it in one line."""
        parts = [str(one) for one in self.statements]
        parts += [f"license {one}" for one in self.licenses]
        return "; ".join([*parts, *([f"tdm-policy {self.policy}"] if self.policy else [])])

    @property
    def said(self) -> int:
        return combined(one.said for one in self.statements)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The purposes that any of them forbids."""
        return names(forbidden(self.said))

    @property
    def allowed(self) -> tuple[str, ...]:
        """The purposes that one of them allows, and none forbids."""
        return names(allowed(self.said))

    @property
    def directives(self) -> frozenset[str]:
        """`noindex`, `nofollow`, `noarchive`, `noimageai`: those that were said, in a robots meta
        element or header.
        """
        return directives(self.said)

    def forbids(self, purpose: str) -> bool:
        """Return whether the owner does not want the page used for this; ValueError for an unknown
        purpose.
        """
        if purpose not in PURPOSES:
            raise ValueError(f"unknown purpose {purpose!r}; expected one of {', '.join(PURPOSES)}")
        return purpose in self.forbidden


NONE = Preferences()


@dataclass(frozen=True, slots=True)
class Purpose:
    """PURPOSE, as bits, and which words of robots meta elements are obeyed."""

    declared: int = 0
    # of the words that are obeyed by settings, those that are not
    unheard: int = NOINDEX | NOARCHIVE

    @classmethod
    def of(cls, purposes: Collection[str]) -> Purpose:
        """A purpose that hears each word on what it is about: noindex with `search`, noarchive with
        `archive`.
        """
        deaf = (0 if "search" in purposes else NOINDEX) | (
            0 if "archive" in purposes else NOARCHIVE
        )
        return cls(mask(purposes), deaf)

    @property
    def obeys_noarchive(self) -> bool:
        """Return whether bodies are kept out of the archive by a word of their owners."""
        return not self.unheard & NOARCHIVE

    @property
    def obeys_noindex(self) -> bool:
        """Return whether pages are kept out of the index."""
        return not self.unheard & NOINDEX

    def withholds(self, preferences: Preferences) -> bool:
        """Return whether the owner forbids the page for every purpose that the crawl has."""
        if not preferences.statements or not self.declared:
            return False
        return not self.declared & ~forbidden(preferences.said, but=self.unheard)

    def sources(self, preferences: Preferences) -> tuple[str, ...]:
        """Who has a part in that, such as `robots.txt` and `header`."""
        against = [
            one
            for one in preferences.statements
            if forbidden(one.said, but=self.unheard) & self.declared
        ]
        return tuple(dict.fromkeys(one.source for one in against))

    def forbids(self, preferences: Preferences, purpose: str) -> bool:
        """Return whether that is not to be done with the page, whatever else the crawl is for."""
        if not preferences.statements:
            return False
        return bool(forbidden(preferences.said, but=self.unheard) & mask([purpose]) & ALL)
