"""STATIC: a fixed set of the most popular URLs of an earlier crawl (section 3.6 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice


class StaticCache:
    """Always holds the first `size` of the given keys; without keys everything is a miss.

    Each key's first request is still a miss, so that its URL reaches the frontier.
    """

    def __init__(self, size: int, keys: Iterable[int] = ()) -> None:
        self._expected = set(islice(dict.fromkeys(keys), size))
        self._met: set[int] = set()

    def __repr__(self) -> str:
        return f"<StaticCache {len(self)} met={len(self._met)}>"

    def __len__(self) -> int:
        return len(self._expected)

    def misses(self, keys: Sequence[int]) -> Sequence[int]:
        if not self._expected:
            return range(len(keys))
        met, missed = self._met, []
        for position, key in enumerate(keys):
            if key not in met:
                missed.append(position)
                if key in self._expected:
                    met.add(key)
        return missed
