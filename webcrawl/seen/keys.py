"""Sorted fingerprints in memory: the few numpy steps that every merge is made of.

uint64 compared with int64 is float64 without a word, and the answers are wrong: all keys here are uint64.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from webcrawl.store.runs import Keys, Mask

Bits = npt.NDArray[np.uint8]

BLOCK = 1 << 14
HIGHEST = (1 << 64) - 1
NO_KEYS: Keys = np.empty(0, np.uint64)


def ranges(rows: int, budget: int) -> Iterator[tuple[int, int]]:
    """First and last key of equal shares of all keys, each of about `budget` rows: fingerprints are uniform."""
    shares = max(1, -(-rows // budget))
    for share in range(shares):
        yield (share << 64) // shares, (((share + 1) << 64) // shares) - 1


def order(keys: Keys) -> Keys:
    """The places of these keys in ascending order, equal keys by place: a stable argsort, in half the time.

    The high bits of each key are sorted together with its place, as one integer. Fingerprints that differ only in
    the few low bits thus lost come out of order: where that happens, a sort of the nearly sorted repairs it.
    """
    bits = np.uint64(max(0, len(keys) - 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    places: Keys = np.arange(len(keys), dtype=np.uint64)
    blocks = [slice(at, at + BLOCK) for at in range(0, len(keys), BLOCK)]  # no temporary arrays of the whole size
    for block in blocks:
        places[block] |= keys[block] & ~low
    places.sort()
    places &= low
    if any(_falls(keys[places[block.start : block.stop + 1]]) for block in blocks):
        places = places[np.argsort(keys[places], kind="stable")]
    return places


def _falls(keys: Keys) -> bool:
    return bool((keys[1:] < keys[:-1]).any())


def firsts(parts: Sequence[Keys]) -> Keys:
    """Of parts (keys ascending, ordinals), all ordinals of one below the next's: each key with its first ordinal."""
    rows: Keys = np.concatenate(parts, axis=1)
    # A stable sort merges sorted parts: 21 ns a row for 8 of them, like the unstable one with vector instructions.
    rows = rows[:, np.argsort(rows[0], kind="stable")]
    return distinct(rows)


def distinct(rows: Keys) -> Keys:
    """Of neighbours with equal keys the first."""
    differs = rows[0, 1:] != rows[0, :-1]
    return rows if differs.all() else rows[:, np.append(True, differs)]


def merged(pieces: Sequence[Keys]) -> Keys:
    """The ascending union of ascending, disjoint pieces."""
    filled = [piece for piece in pieces if len(piece)]
    if len(filled) < 2:
        return filled[0] if filled else NO_KEYS
    keys: Keys = np.concatenate(filled)
    keys.sort(kind="stable")  # a merge, as above: 5 ns a key
    return keys


def packed(keys: array[int]) -> bytes:
    """Keys as rows of the database hold them: little-endian."""
    return np.frombuffer(keys, np.uint64).astype("<u8").tobytes()


def mark(bits: Bits, ordinals: Keys) -> None:
    """Turns these bits on."""
    np.bitwise_or.at(bits, (ordinals >> np.uint64(3)).view(np.int64), _BIT[(ordinals & np.uint64(7)).view(np.int64)])


def marked(bits: Bits, first: int, last: int) -> Mask:
    """The bits first to last, the latter not included."""
    part = np.unpackbits(bits[first >> 3 : (last + 7) >> 3], bitorder="little")
    return part[first & 7 :][: last - first].view(np.bool_)


_BIT = (1 << np.arange(8)).astype(np.uint8)
