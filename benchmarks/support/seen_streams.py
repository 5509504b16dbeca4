"""The input of the seen store's benchmarks: distinct keys computed from numbers, so that none must
be kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]


def spread(numbers: Keys) -> Keys:
    """Return a different key for each number.

    It is the finalizer of splitmix64, which is a bijection.
    """
    keys = numbers * np.uint64(0x9E37_79B9_7F4A_7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return keys ^ (keys >> np.uint64(31))


def as_array(keys: Keys) -> array[int]:
    """Return the keys in the form that the store takes."""
    batch = array("Q")
    batch.frombytes(keys.tobytes())
    return batch


class Stream:
    """Makes batches: even places have the next keys, odd places any earlier ones."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)

    def numbers(self, distinct: int, size: int) -> Keys:
        half = size // 2
        numbers = np.empty(size, np.uint64)
        numbers[::2] = np.arange(distinct, distinct + half)
        numbers[1::2] = self._random.integers(0, distinct + 1, half, np.uint64)
        return numbers

    def batch(self, distinct: int, size: int) -> array[int]:
        return as_array(spread(self.numbers(distinct, size)))


class Strided:
    """Makes keys in order, for a file of a billion: one odd key in each of equal ranges."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._step = (1 << 64) // count  # the width of a range
        self._random = np.random.default_rng(2)

    def keys(self, numbers: Keys) -> Keys:
        return (
            numbers * np.uint64(self._step) + spread(numbers) % np.uint64(self._step)
        ) | np.uint64(1)

    def batch(self, step: int, size: int) -> array[int]:
        """Return even keys, which are not in the file, in even places, and keys of the file in odd
        ones.
        """
        half = size // 2
        keys = np.empty(size, np.uint64)
        keys[::2] = spread(np.arange(step * half, (step + 1) * half, dtype=np.uint64)) & np.uint64(
            2**64 - 2
        )
        keys[1::2] = self.keys(self._random.integers(0, self._count, half, np.uint64))
        return as_array(keys)


def pages(distinct: int, count: int) -> Iterator[tuple[list[int], list[bytes]]]:
    """Yield pages of 40 links of 70 bytes: 20 new ones, 20 earlier ones."""
    stream = Stream()
    for page in range(count):
        numbers = stream.numbers(distinct + 20 * page, 40)
        urls = [
            b"http://www.site%06d.example/section/page-%024d.html" % (n % 999983, n)
            for n in numbers.tolist()
        ]
        yield spread(numbers).tolist(), urls
