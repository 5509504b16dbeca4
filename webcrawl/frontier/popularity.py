"""The weight that links give to URLs, in fixed memory: what prioritizers learn while URLs wait.

Each URL has two cells that it may be in. Where others are in both it takes as much from the poorer one as it was given
itself, and takes its place if it was given at least as much (Boyer and Moore's vote): so what many links lead to stays.
Links to pages that were fetched would fill the table; a second one remembers these, the popular ones for longest.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import msgpack
import numpy as np
from siphashc import siphash

from webcrawl.base.zstd_frame import pack, unpack

CELL = 25  # bytes: two hashes, an amount, a mark


class Popularity:
    """Amounts by URL. What is added is in a cell, was taken, or is `forgotten`: nothing else becomes of it."""

    def __init__(self, key: bytes, memory: int) -> None:
        cells = 1 << max(4, (memory // CELL).bit_length() - 1)
        self._key, self._mask = key, cells - 1
        self._owners, self._amounts = array("Q", bytes(8 * cells)), array("d", bytes(8 * cells))
        self._fetched, self._asked = array("Q", bytes(8 * cells)), bytearray(cells)
        self.forgotten = 0.0

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """The hash of each URL that has something, and what it has."""
        return (pair for pair in zip(self._owners, self._amounts, strict=True) if pair[1])

    def add(self, urls: Iterable[str], amount: float) -> None:
        """Gives each of these URLs so much."""
        owners, amounts, fetched, mask, key = self._owners, self._amounts, self._fetched, self._mask, self._key
        for url in urls:
            number = siphash(key, url)
            at = number & mask
            if owners[at] == number:
                amounts[at] += amount
            elif fetched[at] == number:
                self._asked[at] = 1
                self.forgotten += amount
            elif owners[at ^ 1] == number:
                amounts[at ^ 1] += amount
            else:
                self._challenge(at if amounts[at] <= amounts[at ^ 1] else at ^ 1, number, amount)

    def _challenge(self, at: int, number: int, amount: float) -> None:
        held = self._amounts[at]
        if held <= amount:
            self._owners[at], self._amounts[at] = number, amount
            self.forgotten += held
        else:
            self._amounts[at] -= amount
            self.forgotten += 2 * amount

    def of(self, url: str) -> float:
        """The value of a URL, as far as it is known."""
        number = siphash(self._key, url)
        at = number & self._mask
        if self._owners[at] == number:
            return self._amounts[at]
        return self._amounts[at ^ 1] if self._owners[at ^ 1] == number else 0.0

    def take(self, url: str) -> float:
        """Takes all that a URL has: it was fetched, and gets nothing more as long as that is remembered."""
        number = siphash(self._key, url)
        at = number & self._mask
        if self._asked[at]:  # the one that is there is popular: it has a second chance, as in CLOCK
            self._asked[at] = 0
        else:
            self._fetched[at] = number
        for place in (at, at ^ 1):
            if self._owners[place] == number:
                amount = self._amounts[place]
                self._owners[place], self._amounts[place] = 0, 0.0
                return amount
        return 0.0

    def save(self) -> bytes:
        """The bytes that `restore` needs."""
        amounts, fetched = np.frombuffer(self._amounts), np.frombuffer(self._fetched, np.uint64)
        held = amounts > 0
        owners = np.frombuffer(self._owners, np.uint64)[held]
        rows = owners.tobytes(), amounts[held].tobytes(), fetched[fetched > 0].tobytes(), self.forgotten
        return pack(msgpack.packb(rows))

    def restore(self, data: bytes) -> None:
        """Fills an empty table with what was saved. If there are fewer cells than before, those with more stay."""
        owners, amounts, fetched, self.forgotten = msgpack.unpackb(unpack(data))
        mask = self._mask
        for number in array("Q", fetched):
            self._fetched[number & mask] = number
        rows = sorted(zip(array("d", amounts), array("Q", owners), strict=True), reverse=True)
        for amount, number in rows:
            at = number & mask
            at = at if not self._amounts[at] else at ^ 1
            if self._amounts[at]:
                self.forgotten += amount
            else:
                self._owners[at], self._amounts[at] = number, amount
