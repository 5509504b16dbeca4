"""A fingerprint of a text, of which near-duplicates share nearly all 64 bits (docs/decisions/content-reading.md).

It is a minhash of the pairs of neighbouring words: of 64 samples one bit each. Two texts that share a part s of their
pairs differ in about 32 (1 - s) bits, and texts that have nothing to do with each other in about 32.
"""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np
import numpy.typing as npt

PAIRS = 20  # distinct ones that a text must have: a shorter one is equal to another, or different

_Hashes = npt.NDArray[np.uint64]
# Thai to Burmese, Khmer, kana and Han: written without blanks, so that each character counts as a word
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
# Splitmix64's constants
_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_30, _27, _31, _1 = (np.uint64(n) for n in (30, 27, 31, 1))


def _mixed(numbers: _Hashes) -> _Hashes:
    """Splitmix64: each bit of a number changes half of the bits."""
    numbers = (numbers ^ (numbers >> _30)) * _FIRST
    numbers = (numbers ^ (numbers >> _27)) * _SECOND
    return numbers ^ (numbers >> _31)


_BINS = np.arange(64, dtype=np.uint64) << np.uint64(58)  # the first number of each
_TURNS = _mixed(np.arange(64, dtype=np.uint64) * _STEP)


def fingerprint(text: str) -> int | None:
    """Of a text as a reader sees it, such as `page.visible_text`; None for a very short one. Never raises."""
    pairs = np.unique(_pairs(text))
    if len(pairs) < PAIRS:
        return None
    # The samples: the smallest hash in each 64th of all numbers; of an empty one the next, which its turn makes another
    least = np.searchsorted(pairs, _BINS)
    least[least == len(pairs)] = 0
    bits = (_mixed(pairs[least] ^ _TURNS) & _1).astype(np.uint8)
    return int.from_bytes(np.packbits(bits).tobytes())


def _pairs(text: str) -> _Hashes:
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    words = text.lower().encode(errors="replace").split()
    hashes = _mixed(np.fromiter(map(crc32, words), np.uint64, len(words)) + _STEP)
    return _mixed(hashes[:-1] * _STEP + hashes[1:])
