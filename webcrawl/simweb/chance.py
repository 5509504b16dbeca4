"""Chance that is a pure function of where it is asked: nothing is stored, and every run draws the same."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping
from hashlib import shake_128
from itertools import accumulate
from struct import Struct

_PLACE = Struct("<QQQ")
_WORDS = {count: Struct(f"<{count}Q") for count in (2, 64)}


def draws(seed: int, host: int, page: int, count: int = 2) -> tuple[int, ...]:
    """`count` (2 or 64) uniform 64-bit numbers that belong to one page; 64 of them cost 4 us."""
    words = _WORDS[count]
    digest = shake_128(_PLACE.pack(seed, host, page)).digest(words.size)
    return words.unpack(digest)  # type: ignore[no-any-return,unused-ignore]  # typeshed: tuple[Any, ...]


class Shares:
    """Names with their shares of all numbers; the n-th number belongs to `at(n)`, "" where no share reaches.

    Numbers are spread by a quadratic irrational, which leaves no gap much wider than 1/n: the shares hold
    for a handful of hosts already, where independent draws would leave some kinds out.
    """

    def __init__(self, shares: Mapping[str, float], slope: float, offset: float) -> None:
        self._names = [*shares, ""]
        self._bounds = list(accumulate(shares.values()))
        if any(share < 0 for share in shares.values()) or (self._bounds and self._bounds[-1] > 1.0 + 1e-9):
            raise ValueError(f"shares must not be negative nor exceed 1 together: {dict(shares)}")
        if self._bounds and self._bounds[-1] > 1.0 - 1e-9:
            self._names.pop()
            self._bounds.pop()  # the last one gets all the rest, whatever the rounding
        self._slope, self._offset = slope, offset

    def at(self, number: int) -> str:
        if len(self._names) == 1:
            return self._names[0]
        return self._names[bisect(self._bounds, (self._offset + number * self._slope) % 1.0)]
