"""A sample of the pages that are fetched again: those whose URLs have the smallest hashes, with a row for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappush, heapreplace
from typing import Generic, TypeVar

from siphashc import siphash

MOST = 4096  # pages; a mean of what they have is then right within a few percent
ALL = (1 << 64) - 1
R = TypeVar("R")


class Sample(Generic[R]):
    """Any page is as likely to be in it, however often it is fetched.

    The hash is keyed, so that no site can choose its URLs to be in it.
    """

    __slots__ = ("_largest", "_most", "_order", "_slots", "bar", "key", "rows")

    def __init__(self, key: bytes, most: int = MOST) -> None:
        self._most = most
        self.fill(key, ALL, ())

    def fill(self, key: bytes, bar: int, rows: Iterable[tuple[int, R]]) -> None:
        """Has these pages, by their hashes with this key, from now on."""
        found = list(rows)
        self.key = key
        self.bar = bar  # the largest hash that belongs to the sample
        self._order = [number for number, _ in found]  # the hash in each slot
        self.rows = [row for _, row in found]
        self._slots = {number: slot for slot, number in enumerate(self._order)}
        self._largest = sorted(-number for number in self._order)  # a heap of the negated hashes

    def __len__(self) -> int:
        return len(self.rows)

    def items(self) -> Iterator[tuple[int, R]]:
        """Hashes and rows, as `fill` takes them."""
        return zip(self._order, self.rows, strict=True)

    def find(self, url: str) -> int | None:
        """The slot of a page; None if it is not of the sample."""
        return self._slots.get(siphash(self.key, url))

    def put(self, url: str, row: R) -> None:
        """Tells the latest of a page, whether it is of the sample or not."""
        number = siphash(self.key, url)
        if number > self.bar:
            return
        slot = self._slots.get(number)
        if slot is not None:
            self.rows[slot] = row
        elif len(self.rows) < self._most:
            self._slots[number] = len(self.rows)
            self._order.append(number)
            self.rows.append(row)
            heappush(self._largest, -number)
        else:
            slot = self._slots.pop(-heapreplace(self._largest, -number))
            self._slots[number], self._order[slot], self.rows[slot] = slot, number, row
        if len(self.rows) == self._most:
            self.bar = min(self.bar, -self._largest[0])

    def drop(self, slot: int) -> None:
        """Forgets a page that is gone. Its place goes to the next page with as small a hash."""
        number, last, row = self._order[slot], self._order.pop(), self.rows.pop()
        del self._slots[number]
        if number != last:
            self._order[slot], self.rows[slot], self._slots[last] = last, row, slot
        self._largest.remove(-number)  # rare enough for a search and a sort
        self._largest.sort()
