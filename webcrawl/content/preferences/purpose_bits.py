"""The purposes that an owner may allow or forbid, as bits of one small number: statements are combined by `|`.

Five bits say what is allowed, five what is forbidden, and the others are words of robots meta elements that are
recorded as they are. What one statement forbids no other allows: the drafts' "most restrictive preference applies".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

PURPOSES = ("archive", "search", "research", "train-ai", "ai-input")
_AT = {purpose: 1 << at for at, purpose in enumerate(PURPOSES)}
_SHIFT = len(PURPOSES)
ALL = (1 << _SHIFT) - 1
NOINDEX, NOFOLLOW, NOARCHIVE, NOIMAGEAI = (1 << 2 * _SHIFT + at for at in range(4))
LARGEST = (1 << 2 * _SHIFT + 4) - 1
_WORDS = {NOINDEX: "noindex", NOFOLLOW: "nofollow", NOARCHIVE: "noarchive", NOIMAGEAI: "noimageai"}
# What the words of robots meta elements forbid; nofollow is about links, and noimageai about what a page shows
MEANING = {NOINDEX: _AT["search"], NOARCHIVE: _AT["archive"]}


def mask(purposes: Iterable[str]) -> int:
    """The bits of these purposes."""
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
    """The purposes that these bits stand for."""
    return tuple(purpose for purpose, bit in _AT.items() if bits & bit)


def directives(said: int) -> frozenset[str]:
    """The words of robots meta elements in a statement."""
    return frozenset(word for bit, word in _WORDS.items() if said & bit)


def words(said: int) -> Iterator[str]:
    """A statement as text: `train-ai=n`, `search=y`, `noindex`."""
    no = said >> _SHIFT & ALL
    for purpose, bit in _AT.items():
        if (said | no) & bit:
            yield f"{purpose}={'n' if no & bit else 'y'}"
    yield from (word for bit, word in _WORDS.items() if said & bit)
