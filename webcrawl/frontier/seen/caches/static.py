"""STATIC: a fixed set of the most popular URLs of an earlier crawl (section 3.6 of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

LEARN = 16  # requests for each place, of which the most popular are learned
ROOM = 4  # keys counted for each place; beyond it the rarest are forgotten (lossy counting, Manku and Motwani 2002)


class StaticCache:
    """Always holds the first `size` of the given keys; without keys it learns the most popular of its first requests.

    Each given key's first request is still a miss, so that its URL reaches the frontier. Learned keys were requested.
    """

    def __init__(self, size: int, keys: Iterable[int] = ()) -> None:
        self._size = size
        self._expected = set(islice(dict.fromkeys(keys), size))
        self._met: set[int] = set()
        self._counts: Counter[int] = Counter()
        self._left = 0 if self._expected else LEARN * size  # requests that are still to be learned from
        self._rare = 0  # so many requests of each counted key may have been forgotten

    def __repr__(self) -> str:
        return f"<StaticCache {len(self)} met={len(self._met)}>"

    def __len__(self) -> int:
        return len(self._expected)

    def misses(self, keys: Sequence[int]) -> Sequence[int]:
        met, missed = self._met, []
        for position, key in enumerate(keys):
            if key not in met:
                missed.append(position)
                if self._left:
                    self._learn(key)
                elif key in self._expected:
                    met.add(key)
        return missed

    def _learn(self, key: int) -> None:
        counts = self._counts
        counts[key] += 1
        if len(counts) > ROOM * self._size:
            self._rare += 1
            self._counts = Counter({key: count for key, count in counts.items() if count > self._rare})
        self._left -= 1
        if not self._left:
            self._expected = {key for key, _ in self._counts.most_common(self._size)}
            self._met |= self._expected
            self._counts = Counter()
