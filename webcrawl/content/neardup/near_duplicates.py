"""Counts how many of many pages are near-duplicates of another one, by their fingerprints.

Fingerprints that differ in at most 4 of 64 bits agree in at least two of six blocks of bits. So for each pair of blocks
the fingerprints are sorted by these, and neighbours with equal blocks are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DISTANCE = 4  # bits in which two near-duplicates may differ
NEIGHBOURS = 200  # to each side, with the same two blocks, that a fingerprint is compared with
_ENDS = (0, 11, 22, 33, 44, 54, 64)  # of the blocks
_BLOCKS = [((1 << high) - 1) ^ ((1 << low) - 1) for low, high in pairwise(_ENDS)]

Fingerprints = npt.NDArray[np.uint64]


class NearDuplicates(NamedTuple):
    """Of how many pages with a fingerprint how many have another one beside them."""

    pages: int
    near: int  # have another page within DISTANCE
    equal: int  # of these: have one with the same fingerprint


def read_log(lines: Iterable[bytes]) -> Fingerprints:
    """The fingerprints of logs/neardup.log: 8 bytes of memory for each."""
    return np.fromiter((int(line[:16], 16) for line in lines if line[:1] != b"-"), np.uint64)


def near_duplicates(fingerprints: Fingerprints) -> NearDuplicates:
    """Counts them, in about 60 bytes of memory for each fingerprint.

    If more than NEIGHBOURS fingerprints share two blocks, some pairs are not compared: the count is then a lower bound.
    """
    distinct, counts = np.unique(fingerprints, return_counts=True)
    equal = int(counts[counts > 1].sum())
    near = counts > 1
    for blocks in combinations(_BLOCKS, 2):
        _mark(distinct, np.uint64(blocks[0] | blocks[1]), near)
    return NearDuplicates(len(fingerprints), int(counts[near].sum()), equal)


def _mark(distinct: Fingerprints, mask: np.uint64, near: npt.NDArray[np.bool_]) -> None:
    """Marks those that are near another one with the same bits under the mask."""
    order = np.argsort(distinct & mask).astype(np.uint32)
    keys = distinct[order]
    here = np.arange(len(keys) - 1, dtype=np.int32)  # places whose neighbour at the present distance may be alike
    for away in range(1, NEIGHBOURS + 1):
        here = here[here < len(keys) - away]
        differing = keys[here] ^ keys[here + away]
        alike = (differing & mask) == 0
        here, differing = here[alike], differing[alike]
        if not len(here):
            return
        found = here[np.bitwise_count(differing) <= DISTANCE]
        near[order[found]] = near[order[found + away]] = True
