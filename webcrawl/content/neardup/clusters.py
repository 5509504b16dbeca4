"""Groups of nearly equal texts, found while they come: each has the fingerprint of its first text as its name."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise

LIMIT = 1 << 18  # first texts that are remembered at most, at some 130 bytes each
LOOKED_AT = 1000  # of those with the same block of bits, the latest: pages that are made to share one cost no more


class Clusters:
    """Remembers between half the limit and the limit of the groups that came last.

    Fingerprints that differ in at most n bits agree in at least one of n + 1 blocks of bits: only those that share a
    block are compared.
    """

    def __init__(self, distance: int, limit: int = LIMIT) -> None:
        """`distance`: the bits in which two texts of a group may differ from its first one."""
        self._distance, self._half = distance, max(1, limit // 2)
        ends = [64 * block // (distance + 1) for block in range(distance + 2)]
        self._blocks = [(low, (1 << high - low) - 1) for low, high in pairwise(ends)]
        self._count = 0
        self._new: dict[tuple[int, int], list[int]] = {}
        self._old: dict[tuple[int, int], list[int]] = {}

    def of(self, fingerprint: int) -> int:
        """The name of its group: a new one has its own fingerprint as its name."""
        keys = [(low, fingerprint >> low & mask) for low, mask in self._blocks]
        known = chain.from_iterable(self._sharing(key) for key in keys)
        found = next((one for one in known if (one ^ fingerprint).bit_count() <= self._distance), None)
        if found is None:
            self._add(fingerprint, keys)
        return fingerprint if found is None else found

    def _sharing(self, key: tuple[int, int]) -> Iterable[int]:
        yield from self._new.get(key, ())[-LOOKED_AT:]
        yield from self._old.get(key, ())[-LOOKED_AT:]

    def _add(self, fingerprint: int, keys: Iterable[tuple[int, int]]) -> None:
        if self._count >= self._half:
            self._old, self._new, self._count = self._new, {}, 0
        for key in keys:
            self._new.setdefault(key, []).append(fingerprint)
        self._count += 1
