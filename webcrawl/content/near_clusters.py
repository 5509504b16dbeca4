"""Clusters of near-duplicates among any number of fingerprints, in files that may outgrow memory.

Two fingerprints are in one cluster if a chain of near-duplicates leads from one to the other. So
the clusters do not depend on the order of the fingerprints, or on how many files had them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from webcrawl.base.system import allocate
from webcrawl.content.near_duplicates import (
    BITS,
    DISTANCE,
    NEIGHBOURS,
    Fingerprints,
    block_ends,
    neighbours,
)

# Fingerprints in memory at once. Everything else lies in files that are mapped into memory, whose
# pages the kernel writes back and drops as it needs the space.
AT_ONCE = 1 << 20
MOST = 1 << 32  # different fingerprints: a place has 32 bits
Places = npt.NDArray[np.uint32]


class JoinedClusters:
    """Takes fingerprints, joins them, and then tells the cluster of each.

    A cluster is named after its smallest fingerprint.
    """

    def __init__(self, folder: Path) -> None:
        """`folder`: for files of 20 bytes per fingerprint, which the caller removes."""
        self._folder = folder
        self._added = (folder / "added").open("wb")
        self._distinct: Fingerprints = np.empty(0, np.uint64)
        # by place in `_distinct`: the place of a smaller one of the same cluster, or its own
        self._parents: Places = np.empty(0, np.uint32)
        self.count = 0  # of clusters

    def add(self, fingerprints: Fingerprints) -> None:
        """Append fingerprints, before `join`."""
        self._added.write(fingerprints.tobytes())

    def join(self, distance: int = DISTANCE) -> None:
        """Find all clusters.

        As in `near_duplicates`, some pairs are not compared where more than NEIGHBOURS fingerprints
        share two blocks. Raise ValueError if there are too many fingerprints.
        """
        self._added.close()
        self._distinct = self._sorted_distinct()
        size = len(self._distinct)
        if size > MOST:
            raise ValueError(f"{size} different fingerprints: at most {MOST} can be joined")
        self._parents = self._mapped("parents", np.uint32, size)
        for begin, end in _pieces(size):
            self._parents[begin:end] = np.arange(begin, end)
        for order in _orders(distance):
            for first, second in self._near_pairs(order, distance):
                self._join_pairs(self._places(first), self._places(second))
        for begin, end in _pieces(size):
            places = np.arange(begin, end, dtype=np.uint32)
            self.count += int(np.count_nonzero(self._roots(places) == places))

    def of(self, fingerprints: Fingerprints) -> Fingerprints:
        """Return the names of the clusters of fingerprints that were added."""
        return self._distinct[self._parents[self._places(fingerprints)]]

    def _sorted_distinct(self) -> Fingerprints:
        """Sort what was added, and return each fingerprint once, in a file. The file before is
        removed.
        """
        path = self._folder / "added"
        added = self._map(path, np.uint64)
        # It sorts in the file, whose pages the kernel writes back as it needs memory
        added.sort()
        with (self._folder / "distinct").open("wb") as distinct:
            for begin, end in _pieces(len(added)):
                piece = np.unique(added[begin:end])
                # The last fingerprint of the piece before was written with that one
                is_known = begin > 0 and piece[0] == added[begin - 1]
                distinct.write(piece[1 if is_known else 0 :].tobytes())
        del added
        path.unlink()
        return self._map(self._folder / "distinct", np.uint64)

    def _near_pairs(
        self, order: _BitOrder, distance: int
    ) -> Iterator[tuple[Fingerprints, Fingerprints]]:
        """Yield all pairs of fingerprints that are near, and agree in the highest bits of `order`."""
        keys = self._mapped("keys", np.uint64, len(self._distinct))
        for begin, end in _pieces(len(keys)):
            keys[begin:end] = order.key_of(self._distinct[begin:end])
        keys.sort()
        for begin, end in _pieces(len(keys)):
            # The neighbours of its last keys are in the piece behind it
            piece = np.array(keys[begin : end + NEIGHBOURS])
            for here, other in neighbours(piece, order.mask, distance):
                yield order.fingerprint_of(piece[here]), order.fingerprint_of(piece[other])

    def _places(self, fingerprints: Fingerprints) -> Places:
        return np.searchsorted(self._distinct, fingerprints).astype(np.uint32)

    def _join_pairs(self, one: Places, other: Places) -> None:
        """Put the clusters of each pair together: the larger root follows the smaller one.

        A root that is to follow several follows the smallest; the others are looked at again.
        """
        while len(one):
            one, other = self._roots(one), self._roots(other)
            is_apart = one != other
            one, other = one[is_apart], other[is_apart]
            low, high = np.minimum(one, other), np.maximum(one, other)
            np.minimum.at(self._parents, high, low)

    def _roots(self, places: Places) -> Places:
        """Return the smallest place of each one's cluster, and shorten the ways there."""
        roots = places
        while not np.array_equal(parents := self._parents[roots], roots):
            roots = parents
        self._parents[places] = roots
        return roots

    def _mapped(self, name: str, kind: Any, size: int) -> npt.NDArray[Any]:
        """Return an array in a file that has all its space: a full disk is an OSError here.

        In a file with holes, a full disk would end the process by SIGBUS.
        """
        path = self._folder / name
        with path.open("wb") as file:
            if size:
                allocate(file.fileno(), size * np.dtype(kind).itemsize)
        return self._map(path, kind)

    @staticmethod
    def _map(path: Path, kind: Any) -> npt.NDArray[Any]:
        if not path.stat().st_size:  # which cannot be mapped
            return np.empty(0, kind)
        return np.asarray(np.memmap(path, kind, "r+"))


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, size, AT_ONCE):
        yield begin, min(begin + AT_ONCE, size)


class _Block(NamedTuple):
    """`width` bits of a fingerprint from `low` on, which are in its key from `at` on."""

    low: int
    width: int
    at: int


class _BitOrder:
    """Puts two blocks of bits first, so that sorted keys have fingerprints with equal blocks together."""

    def __init__(self, blocks: list[tuple[int, int]], first: tuple[int, int]) -> None:
        """`blocks`: low and high end of each, from the lowest; `first`: the numbers of the two."""
        others = [number for number in range(len(blocks)) if number not in first]
        self._blocks: list[_Block] = []
        at = 0
        # From the lowest bits of a key to the highest, by which keys are sorted
        for number in (*others, *first):
            low, high = blocks[number]
            self._blocks.append(_Block(low, high - low, at))
            at += high - low
        width = sum(block.width for block in self._blocks[len(others) :])
        self.mask = np.uint64((1 << BITS) - (1 << BITS - width))

    def key_of(self, fingerprints: Fingerprints) -> Fingerprints:
        return self._moved(fingerprints, [(one.low, one.at, one.width) for one in self._blocks])

    def fingerprint_of(self, keys: Fingerprints) -> Fingerprints:
        return self._moved(keys, [(one.at, one.low, one.width) for one in self._blocks])

    @staticmethod
    def _moved(values: Fingerprints, blocks: list[tuple[int, int, int]]) -> Fingerprints:
        moved = np.zeros_like(values)
        for source, target, width in blocks:
            bits = np.uint64((1 << width) - 1)
            moved |= (values >> np.uint64(source) & bits) << np.uint64(target)
        return moved


def _orders(distance: int) -> Iterator[_BitOrder]:
    """Yield orders so that near fingerprints have the same highest bits in at least one of them."""
    blocks = [*pairwise(block_ends(distance + 2))]
    for first in combinations(range(len(blocks)), 2):
        yield _BitOrder(blocks, first)
