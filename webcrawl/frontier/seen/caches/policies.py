"""The policies that the paper compares with CLOCK: LRU, RANDOM and STATIC (3.3, 3.5, 3.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from random import Random


class RandomCache:
    """A list of items; a new item replaces one drawn at random."""

    def __init__(self, size: int, chance: Random | None = None) -> None:
        if size < 1:
            raise ValueError(f"a cache needs at least 1 entry, not {size}")
        self._size = size
        self._draw = (chance or Random(0)).random
        self._items: list[int] = []
        self._held: set[int] = set()

    def __repr__(self) -> str:
        return f"<RandomCache {len(self)}/{self._size}>"

    def __len__(self) -> int:
        return len(self._items)

    def misses(self, keys: Sequence[int]) -> list[int]:
        held = self._held
        missed = []
        for position, key in enumerate(keys):
            if key not in held:
                missed.append(position)
                self._put(key)
        return missed

    def _put(self, key: int) -> None:
        """Add a key, in the place of a random one if the cache is full."""
        items = self._items
        held = self._held
        held.add(key)
        if len(items) < self._size:
            items.append(key)
            return
        at = int(self._draw() * self._size)
        held.remove(items[at])
        items[at] = key


class LruCache:
    """Exact LRU, using functools.lru_cache, which is written in C and calls its function only on a
    miss.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a cache needs at least 1 entry, not {size}")
        self._missed: list[int] = []  # keys for which the cached function was called: misses
        self._ask = lru_cache(maxsize=size)(self._missed.append)

    def __repr__(self) -> str:
        return f"<LruCache {len(self)}/{self._ask.cache_info().maxsize}>"

    def __len__(self) -> int:
        return self._ask.cache_info().currsize

    def misses(self, keys: Sequence[int]) -> list[int]:
        for _ in map(self._ask, keys):
            pass
        positions: list[int] = []
        after = 0
        for key in self._missed:
            # Nothing is evicted between two misses, so the first such key after the last miss is
            # the one that missed.
            at = keys.index(key, after)
            positions.append(at)
            after = at + 1
        self._missed.clear()
        return positions


LEARN = 16  # requests for each place, of which the most popular are learned
# keys counted for each place; beyond it the rarest are forgotten (lossy counting, Manku and Motwani
# 2002)
ROOM = 4


class StaticCache:
    """Always holds the first `size` of the given keys.

    Without keys it learns the most popular of its first requests.

    Each given key's first request is still a miss, so that its URL reaches the frontier. Learned
    keys were requested.
    """

    def __init__(self, size: int, keys: Iterable[int] = ()) -> None:
        self._size = size
        self._expected = set(islice(dict.fromkeys(keys), size))
        # of the expected keys, those requested before: hits from now on
        self._met: set[int] = set()
        self._counts: Counter[int] = Counter()  # requests by key, while the cache learns
        # requests that are still to be learned from
        self._left = 0 if self._expected else LEARN * size
        self._rare = 0  # so many requests of each counted key may have been forgotten

    def __repr__(self) -> str:
        return f"<StaticCache {len(self)} met={len(self._met)}>"

    def __len__(self) -> int:
        return len(self._expected)

    def misses(self, keys: Sequence[int]) -> Sequence[int]:
        met = self._met
        missed = []
        for position, key in enumerate(keys):
            if key not in met:
                missed.append(position)
                if self._left:
                    self._count_request(key)
                elif key in self._expected:
                    met.add(key)
        return missed

    def _count_request(self, key: int) -> None:
        """Count a request; with the last one to learn from, keep the most popular keys."""
        counts = self._counts
        counts[key] += 1
        if len(counts) > ROOM * self._size:
            self._rare += 1
            self._counts = Counter(
                {key: count for key, count in counts.items() if count > self._rare}
            )
        self._left -= 1
        if not self._left:
            self._expected = {key for key, _ in self._counts.most_common(self._size)}
            self._met |= self._expected
            self._counts = Counter()
