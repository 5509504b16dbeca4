"""How much links give to URLs, in fixed memory: what prioritizers learn while URLs wait.

Each URL has one cell that it may be in. A stranger to the one that is there takes as much from it as it brings itself,
and takes its place if it brings at least as much (Boyer and Moore's vote): so what many links lead to stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import msgpack
import numpy as np
import zstandard
from siphashc import siphash

CELL = 16  # bytes


class Popularity:
    """Amounts by URL. What is added is in a cell, was taken, or is `forgotten`: nothing else becomes of it."""

    def __init__(self, key: bytes, memory: int) -> None:
        cells = 1 << max(4, (memory // CELL).bit_length() - 1)
        self._key, self._mask = key, cells - 1
        self._owners, self._amounts = array("Q", bytes(8 * cells)), array("d", bytes(8 * cells))
        self.forgotten = 0.0

    def __repr__(self) -> str:
        return f"<Popularity cells={len(self._owners)} forgotten={self.forgotten:.0f}>"

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """The hash of each URL that has something, and what it has."""
        return (pair for pair in zip(self._owners, self._amounts, strict=True) if pair[1])

    def add(self, urls: Iterable[str], amount: float) -> None:
        """Gives each of these URLs so much."""
        owners, amounts, mask, key = self._owners, self._amounts, self._mask, self._key
        for url in urls:
            number = siphash(key, url)
            at = number & mask
            if owners[at] == number:
                amounts[at] += amount
            elif amounts[at] <= amount:
                self.forgotten += amounts[at]
                owners[at], amounts[at] = number, amount
            else:
                amounts[at] -= amount
                self.forgotten += 2 * amount

    def of(self, url: str) -> float:
        """What a URL has, as far as it is known."""
        number = siphash(self._key, url)
        at = number & self._mask
        return self._amounts[at] if self._owners[at] == number else 0.0

    def take(self, url: str) -> float:
        """Takes all that a URL has."""
        number = siphash(self._key, url)
        at = number & self._mask
        if self._owners[at] != number:
            return 0.0
        amount, self._amounts[at] = self._amounts[at], 0.0
        return amount

    def save(self) -> bytes:
        """What `restore` needs."""
        amounts = np.frombuffer(self._amounts)
        filled = amounts > 0
        rows = np.frombuffer(self._owners, np.uint64)[filled].tobytes(), amounts[filled].tobytes(), self.forgotten
        return zstandard.compress(msgpack.packb(rows), 1)

    def restore(self, data: bytes) -> None:
        """Puts back what was saved. If there are fewer cells than before, those with more stay."""
        owners, amounts, self.forgotten = msgpack.unpackb(zstandard.decompress(data))
        numbers, values = np.frombuffer(owners, np.uint64), np.frombuffer(amounts)
        order = np.argsort(values)  # of several in one cell the last one stays
        places = (numbers & np.uint64(self._mask)).astype(np.int64)[order]
        table, sums = np.array(self._owners), np.array(self._amounts)
        table[places], sums[places] = numbers[order], values[order]
        self.forgotten += float(values.sum() - sums.sum())
        self._owners, self._amounts = array("Q", table.tobytes()), array("d", sums.tobytes())
