"""The purposes that an owner may allow or forbid, as bits of one small number, and statements.

They are combined by `|`. Five bits are for what is allowed, five for what is forbidden, and the
others for words of robots meta elements that are recorded as they are. If one statement forbids a
purpose, no other can allow it: the drafts' "most restrictive preference applies".
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
    # A set: a purpose that is named twice has its bit once
    return sum({_AT[purpose] for purpose in purposes})


def allows(*purposes: str) -> int:
    """Return the statement that allows these purposes."""
    return mask(purposes)


def forbids(*purposes: str) -> int:
    """Return the statement that forbids these purposes."""
    return mask(purposes) << _SHIFT


def combined(statements: Iterable[int]) -> int:
    """Return what statements say together."""
    return reduce(or_, statements, 0)


def forbidden(said: int, *, but: int = 0) -> int:
    """Return the purposes that a statement forbids, as bits; the words of `but` are ignored."""
    found = said >> _SHIFT & ALL
    for word, purpose in MEANING.items():
        if said & word & ~but:
            found |= purpose
    return found


def prohibitions(said: int) -> int:
    """Return the statement without its permissions."""
    return said & ~ALL


def allowed(said: int) -> int:
    """Return the purposes that a statement allows, as bits."""
    return said & ALL & ~forbidden(said)


def names(bits: int) -> tuple[str, ...]:
    return tuple(purpose for purpose, bit in _AT.items() if bits & bit)


def directives(said: int) -> frozenset[str]:
    return frozenset(word for bit, word in _WORDS.items() if said & bit)


def words(said: int) -> Iterator[str]:
    """Yield the words of a statement: `train-ai=n`, `search=y`, `noindex`."""
    no = said >> _SHIFT & ALL
    for purpose, bit in _AT.items():
        # Forbidden is what is both allowed and forbidden
        if no & bit:
            yield f"{purpose}=n"
        elif said & bit:
            yield f"{purpose}=y"
    for bit, word in _WORDS.items():
        if said & bit:
            yield word


ROBOTS, HEADER, DOCUMENT, EARLIER = "robots.txt", "header", "document", "earlier"  # sources


class PreferenceStatement(NamedTuple):
    """One statement: its source, the field that makes it, and its bits."""

    source: str
    field: str
    said: int

    def __str__(self) -> str:
        return f"{self.source} {self.field} {' '.join(words(self.said))}"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences that an owner states of a page, by whatever way; falsy if there are none.

    The more restrictive of two statements applies (draft-ietf-aipref-vocab-08, 5.1).
    """

    statements: tuple[PreferenceStatement, ...] = ()
    licenses: tuple[str, ...] = ()  # addresses of RSL documents
    policy: str = ""  # address of a TDM policy

    def __bool__(self) -> bool:
        return bool(self.statements or self.licenses or self.policy)

    def __str__(self) -> str:
        """Return all preferences in one line."""
        parts = [str(one) for one in self.statements]
        parts += [f"license {one}" for one in self.licenses]
        if self.policy:
            parts.append(f"tdm-policy {self.policy}")
        return "; ".join(parts)

    @property
    def said(self) -> int:
        return combined(one.said for one in self.statements)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Return the purposes that any of the statements forbids."""
        return names(forbidden(self.said))

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the purposes that a statement allows, and none forbids."""
        return names(allowed(self.said))

    @property
    def directives(self) -> frozenset[str]:
        """Return the directives of robots meta elements and headers that name no purpose.

        These are `noindex`, `nofollow`, `noarchive` and `noimageai`.
        """
        return directives(self.said)

    def forbids(self, purpose: str) -> bool:
        """Return whether the owner forbids this purpose. Raise ValueError for an unknown purpose."""
        if purpose not in PURPOSES:
            raise ValueError(f"unknown purpose {purpose!r}; expected one of {', '.join(PURPOSES)}")
        return purpose in self.forbidden


NONE = Preferences()


@dataclass(frozen=True, slots=True)
class Purpose:
    """PURPOSE, as bits, and which words of robots meta elements are obeyed."""

    declared: int = 0
    # The words of robots meta elements that the crawl does not obey
    unheard: int = NOINDEX | NOARCHIVE

    @classmethod
    def of(cls, purposes: Collection[str]) -> Purpose:
        """Return a Purpose that obeys noindex with `search`, and noarchive with `archive`."""
        unheard = 0
        if "search" not in purposes:
            unheard |= NOINDEX
        if "archive" not in purposes:
            unheard |= NOARCHIVE
        return cls(mask(purposes), unheard)

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
        # A page that is forbidden for one of two purposes is kept for the other
        return not self.declared & ~forbidden(preferences.said, but=self.unheard)

    def sources(self, preferences: Preferences) -> tuple[str, ...]:
        """Return the sources that forbid a purpose of the crawl, such as `robots.txt` and `header`."""
        against = [
            one
            for one in preferences.statements
            if forbidden(one.said, but=self.unheard) & self.declared
        ]
        return tuple(dict.fromkeys(one.source for one in against))

    def forbids(self, preferences: Preferences, purpose: str) -> bool:
        """Return whether the page must not be used for this, whatever else the crawl is for."""
        if not preferences.statements:
            return False
        return bool(forbidden(preferences.said, but=self.unheard) & mask([purpose]) & ALL)
