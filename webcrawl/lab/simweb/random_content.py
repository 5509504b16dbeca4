"""Random numbers, words, text and paths as pure functions of a place in the web: every run draws
the same.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping
from functools import lru_cache
from hashlib import shake_128
from itertools import accumulate, product
from random import Random
from struct import Struct

_PAGE_KEY = Struct("<QQQ")
_UNPACK = {count: Struct(f"<{count}Q") for count in (2, 64)}  # 64 numbers take 4 microseconds


def draws(seed: int, host: int, page: int, count: int = 2) -> tuple[int, ...]:
    """Return `count` uniform numbers of 64 bits that belong to one page; `count` is 2 or 64."""
    numbers = _UNPACK[count]
    digest = shake_128(_PAGE_KEY.pack(seed, host, page)).digest(numbers.size)
    return numbers.unpack(digest)  # type: ignore[no-any-return,unused-ignore]  # typeshed: tuple[Any, ...]


_ROUNDING = 1e-9  # by which shares that are 1 together may miss it


class Shares:
    """Divides the natural numbers among names by share.

    Number n belongs to the name whose part of [0, 1) has the fraction of offset + n * slope. A
    quadratic irrational as slope spreads these fractions without leaving a gap much wider than 1/n.
    So the shares hold even for a handful of hosts, where independent draws would miss some kinds.
    """

    def __init__(self, shares: Mapping[str, float], slope: float, offset: float) -> None:
        """Raise ValueError if a share is negative, or all together are more than 1."""
        self._names = [*shares, ""]
        self._bounds = list(accumulate(shares.values()))
        total = self._bounds[-1] if self._bounds else 0.0
        if total > 1.0 + _ROUNDING or any(share < 0 for share in shares.values()):
            raise ValueError(f"shares must be at least 0 and at most 1 together: {dict(shares)}")
        if total > 1.0 - _ROUNDING:
            self._names.pop()
            self._bounds.pop()  # the last one gets the rest, whatever the rounding
        self._slope = slope
        self._offset = offset

    def at(self, number: int) -> str:
        """Return the name to which this number belongs, or "" if it is outside all shares."""
        if len(self._names) == 1:
            return self._names[0]
        return self._names[bisect(self._bounds, (self._offset + number * self._slope) % 1.0)]


_TEXT = (
    "river stone market garden letter window summer winter engine harbor museum bridge valley forest island "
    "silver copper iron paper cotton timber butter coffee pepper orange lemon apple cherry walnut barley "
    "wheat village castle temple station airport library college theater gallery factory kitchen bedroom "
    "doctor farmer sailor teacher painter singer writer baker tailor soldier pilot judge mayor captain "
    "history science music poetry drama physics biology geology algebra logic ethics politics economy "
    "morning evening midnight sunrise weather thunder lightning rainbow shadow mirror candle lantern basket "
    "bottle blanket carpet curtain hammer ladder needle pencil ribbon saddle wagon wheel anchor compass "
    "quick quiet narrow hollow golden ancient modern gentle bitter heavy simple honest famous foreign "
    "public private local national early later common central western eastern northern southern upper lower "
    "report survey project record account budget contract license permit policy treaty union council "
    "carry follow gather measure compare deliver collect publish archive discover explore repair restore"
)
WORDS = _TEXT.split()[:128]

SECTIONS = ("news", "archive", "forum", "shop", "people", "travel", "music", "wiki")

LENGTH = 2**18  # characters: a power of two, so that a random place is a few bits of a number


@lru_cache(4)
def filler(seed: int) -> str:
    """Return a text of LENGTH characters, twice: LENGTH characters can be taken from any place.

    Pages take it from anywhere, even within words, so that each page has exactly its size.
    """
    random = Random(seed)
    words = random.choices(WORDS, k=LENGTH // 6)
    for at in range(11, len(words), 11):  # sentences of eleven words
        words[at - 1] += "."
        words[at] = words[at].capitalize()
    return " ".join(words)[:LENGTH] * 2


_PAGE_TARGET = re.compile(r"/.*?(?:-|\?id=)([1-9]\d{0,9})(?:\.html|&view=full)?")


def path(page: int) -> str:
    """Return the request target of a page.

    Eight forms take turns, so that path rules meet some of each.
    """
    if not page:
        return "/"
    form = page & 7
    section = SECTIONS[page >> 3 & 7]
    word = WORDS[(page ^ page >> 7) & 127]
    if form < 5:
        return f"/{section}/{word}-{page}.html"
    if form == 5:
        return f"/{section}/{2000 + page % 25}/{word}-{page}.html"
    if form == 6:
        return f"/item.php?id={page}&view=full"
    return f"/{section}/{word}/{section}-{page}"


def page_number(target: str) -> int | None:
    """Return the number of the page with this path, even if the host has fewer pages."""
    if target == "/":
        return 0
    match = _PAGE_TARGET.fullmatch(target)
    # One URL per page: the number in another form is no page
    if match is None or path(int(match[1])) != target:
        return None
    return int(match[1])


def relative(depth: int, target: str) -> str:
    """Return `target` as written on a page `depth` folders deep."""
    return "../" * depth + target[1:] or "./"


def depth(target: str) -> int:
    """Return the number of folders between the root and a page, without the query."""
    return target.partition("?")[0].count("/") - 1


_SYLLABLES = "ba co di fu ga hel in jo ka lu mer no or pi qua ri so tam ul ven wo xi ya zor"
_OWN_WORDS = 128  # of a page's own vocabulary; as many are common to all pages
_OWN_WORD_NUMBERS = Struct(f"<{_OWN_WORDS}H")
_CHARS_PER_WORD = 6  # characters, space included; the average is above 7


@lru_cache(1)
def _invented_words() -> list[str]:
    """Return 13,824 words that are made up."""
    return ["".join(parts) for parts in product(_SYLLABLES.split(), repeat=3)]


def prose(key: str, length: int) -> str:
    """Return a text of `length` characters that belongs to a key.

    The same key has the same text, and another key a text with other words.
    """
    digest = shake_128(key.encode()).digest(_OWN_WORD_NUMBERS.size + length // _CHARS_PER_WORD + 64)
    invented = _invented_words()
    numbers = _OWN_WORD_NUMBERS.unpack_from(digest)
    words = WORDS + [invented[number % len(invented)] for number in numbers]
    return " ".join([words[byte] for byte in digest[_OWN_WORD_NUMBERS.size :]])[:length]
