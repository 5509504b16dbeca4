"""Fingerprints of texts, and the search for near-duplicates, which share nearly all 64 bits.

A fingerprint is a minhash of the pairs of neighbouring words: of 64 samples one bit each. Two texts
that share a part s of their pairs differ in about 32 (1 - s) bits, and texts that have nothing to
do with each other in about 32 (docs/decisions/content-reading.md). Fingerprints that differ in at
most d bits agree in at least two of d + 2 blocks of bits: for each pair of blocks the fingerprints
are sorted by these, and neighbours with equal blocks are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, pairwise
from math import comb
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

BITS = 64  # of a fingerprint
# Bits in which two near-duplicates may differ, by default. Half of the texts that share 85.5 % of
# their pairs are within it, nine in ten of those that share 92 %, and no two of 1,423 real pages
# that share less than half
DISTANCE = 4
NEIGHBOURS = 200  # to each side, with the same two blocks, that a fingerprint is compared with

Fingerprints = npt.NDArray[np.uint64]


class NearDuplicates(NamedTuple):
    """The number of pages with a fingerprint, and how many of them have a near duplicate."""

    pages: int
    near: int  # have another page within the distance
    equal: int  # of these: have one with the same fingerprint


def read_log(lines: Iterable[bytes]) -> Fingerprints:
    """Return the fingerprints of logs/neardup.log: 8 bytes of memory for each."""
    return np.fromiter((int(line[:16], 16) for line in lines if line[:1] != b"-"), np.uint64)


def reported(shared: float, distance: int = DISTANCE) -> float:
    """Return the probability that two texts with this share of common pairs are within a distance.

    The pairs are those of neighbouring words.
    """
    differs = (1 - shared) / 2  # of each bit: the samples are others, and their bits too
    return sum(
        comb(BITS, bits) * differs**bits * (1 - differs) ** (BITS - bits)
        for bits in range(distance + 1)
    )


def near_duplicates(fingerprints: Fingerprints, distance: int = DISTANCE) -> NearDuplicates:
    """Count near-duplicates, in about 60 bytes of memory for each fingerprint.

    If more than NEIGHBOURS fingerprints share two blocks, some pairs are not compared, and the
    count is a lower bound. The same holds beyond a distance of six with millions of pages, because
    the blocks become small.
    """
    distinct, counts = np.unique(fingerprints, return_counts=True)
    equal = int(counts[counts > 1].sum())
    near = counts > 1
    for first_block, second_block in combinations(_blocks(distance + 2), 2):
        mask = np.uint64(first_block | second_block)
        key_order = np.argsort(distinct & mask).astype(np.uint32)
        for here, there in neighbours(distinct[key_order], mask, distance):
            near[key_order[here]] = near[key_order[there]] = True
    return NearDuplicates(len(fingerprints), int(counts[near].sum()), equal)


def _blocks(count: int) -> list[int]:
    """Return `count` masks that share the bits of a fingerprint between them."""
    ends = block_ends(count)
    return [((1 << high) - 1) ^ ((1 << low) - 1) for low, high in pairwise(ends)]


def block_ends(count: int) -> list[int]:
    """Return where each of `count` blocks of bits ends, after the 0 where the first begins."""
    return [BITS * end // count for end in range(count + 1)]


def neighbours(
    keys: Fingerprints, mask: np.uint64, distance: int
) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
    """Yield the places of fingerprints that are within the distance, each pair once.

    `keys` are sorted by their bits under the mask. Only those with the same bits are compared, each
    with NEIGHBOURS that follow.
    """
    # places whose neighbour at the present distance may be alike
    here = np.arange(len(keys) - 1, dtype=np.int32)
    for away in range(1, NEIGHBOURS + 1):
        here = here[here < len(keys) - away]
        differing = keys[here] ^ keys[here + away]
        alike = (differing & mask) == 0
        here, differing = here[alike], differing[alike]
        if not len(here):
            return
        found = here[np.bitwise_count(differing) <= distance]
        yield found, found + away


PAIRS = 20  # distinct ones that a text must have: a shorter one is equal to another, or different

_Hashes = npt.NDArray[np.uint64]
# Thai to Burmese, Khmer, kana and Han: written without blanks, so that each character counts as a
# word
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
# Splitmix64's constants
_STEP, _FIRST, _SECOND = (
    np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_30, _27, _31, _1 = (np.uint64(n) for n in (30, 27, 31, 1))


def _mixed(numbers: _Hashes) -> _Hashes:
    """Return the numbers mixed by splitmix64: each bit of a number changes half of the bits."""
    numbers = (numbers ^ (numbers >> _30)) * _FIRST
    numbers = (numbers ^ (numbers >> _27)) * _SECOND
    return numbers ^ (numbers >> _31)


_BINS = np.arange(64, dtype=np.uint64) << np.uint64(58)  # the first number of each
_TURNS = _mixed(np.arange(64, dtype=np.uint64) * _STEP)


def fingerprint(text: str) -> int | None:
    """Return the fingerprint of a text such as `page.visible_text`; None for a very short one.

    Never raises.
    """
    pairs = np.unique(_pairs(text))
    if len(pairs) < PAIRS:
        return None
    # The samples: the smallest hash in each 64th of all numbers; of an empty one the next, which
    # its turn makes another
    samples = np.searchsorted(pairs, _BINS)
    samples[samples == len(pairs)] = 0
    bits = (_mixed(pairs[samples] ^ _TURNS) & _1).astype(np.uint8)
    return int.from_bytes(np.packbits(bits).tobytes())


def words_of(text: str) -> list[str]:
    """Return the words of a text. In writing without blanks each character is a word."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    return text.split()


def _pairs(text: str) -> _Hashes:
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    words = text.lower().encode(errors="replace").split()
    hashes = _mixed(np.fromiter(map(crc32, words), np.uint64, len(words)) + _STEP)
    return _mixed(hashes[:-1] * _STEP + hashes[1:])


LIMIT = 1 << 18  # first texts that are remembered at most, at some 130 bytes each
# The latest of those with the same block of bits: pages that share one on purpose cost no more
MAX_COMPARED = 1000


class Clusters:
    """Remembers between half the limit and the limit of the groups that came last.

    Fingerprints that differ in at most n bits agree in at least one of n + 1 blocks of bits: only
    those that share a block are compared.
    """

    def __init__(self, distance: int, limit: int = LIMIT) -> None:
        """`distance`: the bits in which two texts of a group may differ from its first one."""
        self._distance = distance
        self._half = max(1, limit // 2)
        ends = [64 * block // (distance + 1) for block in range(distance + 2)]
        self._blocks = [(low, (1 << high - low) - 1) for low, high in pairwise(ends)]
        self._count = 0
        self._new: dict[tuple[int, int], list[int]] = {}
        self._old: dict[tuple[int, int], list[int]] = {}

    def of(self, fingerprint: int) -> int:
        """Return the name of the text's group: the fingerprint of its first text."""
        keys = [(low, fingerprint >> low & mask) for low, mask in self._blocks]
        for known in chain.from_iterable(map(self._sharing, keys)):
            if (known ^ fingerprint).bit_count() <= self._distance:
                return known
        self._add(fingerprint, keys)
        return fingerprint

    def _sharing(self, key: tuple[int, int]) -> Iterable[int]:
        yield from self._new.get(key, ())[-MAX_COMPARED:]
        yield from self._old.get(key, ())[-MAX_COMPARED:]

    def _add(self, fingerprint: int, keys: Iterable[tuple[int, int]]) -> None:
        if self._count >= self._half:
            self._old = self._new
            self._new = {}
            self._count = 0
        for key in keys:
            self._new.setdefault(key, []).append(fingerprint)
        self._count += 1
