"""Random numbers as a pure function of a place in the web: nothing is stored, and every run draws the same."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping
from hashlib import shake_128
from itertools import accumulate
from struct import Struct

_PLACE = Struct("<QQQ")
_WORDS = {count: Struct(f"<{count}Q") for count in (2, 64)}


def draws(seed: int, host: int, page: int, count: int = 2) -> tuple[int, ...]:
    """`count` (2 or 64) uniform 64-bit numbers that belong to one page; 64 of them take 4 us."""
    words = _WORDS[count]
    digest = shake_128(_PLACE.pack(seed, host, page)).digest(words.size)
    return words.unpack(digest)  # type: ignore[no-any-return,unused-ignore]  # typeshed: tuple[Any, ...]


class Shares:
    """Divides the natural numbers among names by share; `at(n)` is the name of number n, "" outside all shares.

    A quadratic irrational spreads the numbers without leaving a gap much wider than 1/n. So the shares hold even for a
    handful of hosts, where independent draws would miss some kinds.
    """

    def __init__(self, shares: Mapping[str, float], slope: float, offset: float) -> None:
        self._names = [*shares, ""]
        self._bounds = list(accumulate(shares.values()))
        if any(share < 0 for share in shares.values()) or (self._bounds and self._bounds[-1] > 1.0 + 1e-9):
            raise ValueError(f"shares must be at least 0 and at most 1 together: {dict(shares)}")
        if self._bounds and self._bounds[-1] > 1.0 - 1e-9:
            self._names.pop()
            self._bounds.pop()  # the last one gets the rest, whatever the rounding
        self._slope, self._offset = slope, offset

    def at(self, number: int) -> str:
        if len(self._names) == 1:
            return self._names[0]
        return self._names[bisect(self._bounds, (self._offset + number * self._slope) % 1.0)]
