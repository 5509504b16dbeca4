"""RANDOM: evicts a random item (section 3.5 of the paper); no bookkeeping, and only slightly worse."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


class RandomCache:
    """A list of items; a new item replaces one drawn at random."""

    def __init__(self, size: int, chance: Random | None = None) -> None:
        if size < 1:
            raise ValueError(f"a cache of {size} entries")
        self._size = size
        self._draw = (chance or Random(0)).random
        self._items: list[int] = []
        self._held: set[int] = set()

    def __repr__(self) -> str:
        return f"<RandomCache {len(self)}/{self._size}>"

    def __len__(self) -> int:
        return len(self._items)

    def misses(self, keys: Sequence[int]) -> list[int]:
        held, missed = self._held, []
        for position, key in enumerate(keys):
            if key not in held:
                missed.append(position)
                self._put(key)
        return missed

    def _put(self, key: int) -> None:
        items, held = self._items, self._held
        held.add(key)
        if len(items) < self._size:
            items.append(key)
            return
        at = int(self._draw() * self._size)
        held.remove(items[at])
        items[at] = key
