"""A sample of all pages, for what must be known of them together."""

from __future__ import annotations

from heapq import heappush, heapreplace
from struct import Struct

from siphashc import siphash

MOST = 4096  # pages; a mean of what they have is then right within a few percent
KEY = 16  # bytes
_ALL = (1 << 64) - 1
_HEAD = Struct("<16sQ")
_ROW = Struct("<Q4d")
Row = tuple[float, float, float, float]  # three numbers of a policy's own, and when the page is due


class Sample:
    """The pages whose URLs have the smallest hashes: any page is as likely to be in it, however often it is fetched.

    The hash is keyed, so that no site can choose its URLs to be in it.
    """

    __slots__ = ("_key", "_largest", "_order", "_slots", "bar", "rows")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._order: list[int] = []  # the hash in each slot
        self._slots: dict[int, int] = {}
        self._largest: list[int] = []  # a heap of the negated hashes
        self.rows: list[Row] = []
        self.bar = _ALL  # the largest hash that belongs to the sample

    def __len__(self) -> int:
        return len(self.rows)

    def put(self, url: str, row: Row) -> None:
        """Tells the latest of a page, whether it is of the sample or not."""
        number = siphash(self._key, url)
        if number <= self.bar:
            self._put(number, row)

    def _put(self, number: int, row: Row) -> None:
        slot = self._slots.get(number)
        if slot is not None:
            self.rows[slot] = row
        elif len(self.rows) < MOST:
            self._slots[number] = len(self.rows)
            self._order.append(number)
            self.rows.append(row)
            heappush(self._largest, -number)
        else:
            slot = self._slots.pop(-heapreplace(self._largest, -number))
            self._slots[number], self._order[slot], self.rows[slot] = slot, number, row
        if len(self.rows) == MOST:
            self.bar = min(self.bar, -self._largest[0])

    def drop(self, slot: int) -> None:
        """Forgets a page that is gone. Its place goes to the next page with as small a hash."""
        number, last, row = self._order[slot], self._order.pop(), self.rows.pop()
        del self._slots[number]
        if number != last:
            self._order[slot], self.rows[slot], self._slots[last] = last, row, slot
        self._largest.remove(-number)  # rare enough for a search and a sort
        self._largest.sort()

    def state(self) -> bytes:
        rows = (_ROW.pack(number, *row) for number, row in zip(self._order, self.rows, strict=True))
        return _HEAD.pack(self._key, self.bar) + b"".join(rows)

    def restore(self, data: bytes) -> bool:
        """Takes over a state, if it is one."""
        if len(data) < _HEAD.size or (len(data) - _HEAD.size) % _ROW.size:
            return False
        self._key, self.bar = _HEAD.unpack_from(data)
        rows = list(_ROW.iter_unpack(data[_HEAD.size :]))
        self._order, self.rows = [row[0] for row in rows], [row[1:] for row in rows]
        self._slots = {number: slot for slot, number in enumerate(self._order)}
        self._largest = sorted(-number for number in self._order)
        return True
