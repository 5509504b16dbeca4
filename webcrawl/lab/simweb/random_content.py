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

_PLACE = Struct("<QQQ")
_WORDS = {count: Struct(f"<{count}Q") for count in (2, 64)}


def draws(seed: int, host: int, page: int, count: int = 2) -> tuple[int, ...]:
    """Return `count` (2 or 64) uniform 64-bit numbers that belong to one page; 64 of them take 4
    us.
    """
    words = _WORDS[count]
    digest = shake_128(_PLACE.pack(seed, host, page)).digest(words.size)
    return words.unpack(digest)  # type: ignore[no-any-return,unused-ignore]  # typeshed: tuple[Any, ...]


class Shares:
    """Divides the natural numbers among names by share.

    `at(n)` is the name of number n, "" outside all shares.

    A quadratic irrational spreads the numbers without leaving a gap much wider than 1/n. So the
    shares hold even for a handful of hosts, where independent draws would miss some kinds.
    """

    def __init__(self, shares: Mapping[str, float], slope: float, offset: float) -> None:
        self._names = [*shares, ""]
        self._bounds = list(accumulate(shares.values()))
        if any(share < 0 for share in shares.values()) or (
            self._bounds and self._bounds[-1] > 1.0 + 1e-9
        ):
            raise ValueError(f"shares must be at least 0 and at most 1 together: {dict(shares)}")
        if self._bounds and self._bounds[-1] > 1.0 - 1e-9:
            self._names.pop()
            self._bounds.pop()  # the last one gets the rest, whatever the rounding
        self._slope = slope
        self._offset = offset

    def at(self, number: int) -> str:
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
    """Return LENGTH characters of words, repeated once, so that any LENGTH characters from the
    first half can be cut out.

    Pages cut it anywhere, even within words, so that each page has exactly its size.
    """
    chance = Random(seed)
    words = chance.choices(WORDS, k=LENGTH // 6)
    for at in range(11, len(words), 11):
        # A sentence of eleven words
        words[at - 1] += "."
        words[at] = words[at].capitalize()
    return " ".join(words)[:LENGTH] * 2


_NUMBER = re.compile(r"/.*?(?:-|\?id=)([1-9]\d{0,9})(?:\.html|&view=full)?")


def path(page: int) -> str:
    """Return the request target of a page.

    Eight forms take turns, so that path rules meet some of each.
    """
    if not page:
        return "/"
    form, section, word = page & 7, SECTIONS[page >> 3 & 7], WORDS[(page ^ page >> 7) & 127]
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
    match = _NUMBER.fullmatch(target)
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
_OWN = 128  # words of a page's own vocabulary; as many are common to all
_NUMBERS = Struct(f"<{_OWN}H")
_PER_WORD = 6  # characters, space included; the average is above 7


@lru_cache(1)
def _rare() -> list[str]:
    """Return 13,824 words that are made up."""
    return ["".join(parts) for parts in product(_SYLLABLES.split(), repeat=3)]


def prose(key: str, length: int) -> str:
    """Return so many characters of text.

    The same key gives the same text, another one a text with other words.
    """
    digest = shake_128(key.encode()).digest(_NUMBERS.size + length // _PER_WORD + 64)
    rare = _rare()
    words = WORDS + [rare[number % len(rare)] for number in _NUMBERS.unpack_from(digest)]
    return " ".join([words[byte] for byte in digest[_NUMBERS.size :]])[:length]
