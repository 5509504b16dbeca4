"""LRU: evicts the least recently requested item (section 3.3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache


class LruCache:
    """Exact LRU, using functools.lru_cache, which is written in C and calls its function only on a miss."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a cache of {size} entries")
        self._missed: list[int] = []
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
            # Nothing is evicted between two misses, so the first such key after the last miss is the one that missed.
            at = keys.index(key, after)
            positions.append(at)
            after = at + 1
        self._missed.clear()
        return positions
