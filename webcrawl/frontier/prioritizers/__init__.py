"""Chooses the front-end queue of a link: small classes, of which FRONTIER_PRIORITIZER names one.

What a prioritizer learns of URLs is in a table of bounded size, which is saved with every
checkpoint.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgpack
import numpy as np
from siphashc import siphash

from webcrawl.base.model import Link
from webcrawl.base.page_values import PageScores
from webcrawl.base.zstd_frame import pack, unpack

CELL = 25  # bytes: two hashes, an amount, a mark


class Popularity:
    """Amounts by URL, in fixed memory. What is added is in a cell, was taken, or is `forgotten`.

    URLs are known by their hashes. A URL may be in one of two cells: that with the index of the low
    bits of its hash, and the neighbour, whose index differs in the last bit. Where others are in
    both, what it is given is taken off the poorer one, and if that has no more than this, the URL
    gets the cell (Boyer and Moore's vote): so what many links lead to stays. Links to pages that
    were fetched would fill the table; a second one remembers these, the popular ones for longest.
    """

    def __init__(self, key: bytes, memory: int) -> None:
        cells = 1 << max(4, (memory // CELL).bit_length() - 1)
        self._key = key
        self._mask = cells - 1
        self._owners = array("Q", bytes(8 * cells))  # by cell: its URL's hash
        self._amounts = array("d", bytes(8 * cells))  # by cell: what its URL has; 0: it is free
        # By cell: a URL that was fetched, which gets nothing more.
        # Without these, and with one cell per URL, links to pages that were fetched long ago filled
        # the table: the mean of the curve was 74.2 in place of 77.4.
        self._fetched = array("Q", bytes(8 * cells))
        self._referenced = bytearray(
            cells
        )  # 1: the fetched URL was linked to since it was remembered
        self.forgotten = 0.0  # the sum of amounts that were added and are lost

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Return the hash of each URL that has something, and what it has."""
        return (pair for pair in zip(self._owners, self._amounts, strict=True) if pair[1])

    def add(self, urls: Iterable[str], amount: float) -> None:
        """Give each of these URLs so much."""
        owners, amounts, fetched, mask, key = (
            self._owners,
            self._amounts,
            self._fetched,
            self._mask,
            self._key,
        )
        for url in urls:
            number = siphash(key, url)
            at = number & mask
            if owners[at] == number:
                amounts[at] += amount
            elif fetched[at] == number:
                self._referenced[at] = 1
                self.forgotten += amount
            elif owners[at ^ 1] == number:
                amounts[at ^ 1] += amount
            else:
                self._challenge(at if amounts[at] <= amounts[at ^ 1] else at ^ 1, number, amount)

    def _challenge(self, at: int, number: int, amount: float) -> None:
        """Give a cell to a URL that has as much as its owner; else reduce what the owner has."""
        held = self._amounts[at]
        if held <= amount:
            self._owners[at] = number
            self._amounts[at] = amount
            self.forgotten += held
        else:
            # Both are lost: what was given, and what it has cost the URL in the cell.
            self._amounts[at] -= amount
            self.forgotten += 2 * amount

    def of(self, url: str) -> float:
        """Return the value of a URL, as far as it is known."""
        number = siphash(self._key, url)
        at = number & self._mask
        if self._owners[at] == number:
            return self._amounts[at]
        return self._amounts[at ^ 1] if self._owners[at ^ 1] == number else 0.0

    def take(self, url: str) -> float:
        """Remove and return all that a URL has, as it was fetched.

        It gets nothing more as long as that is remembered.
        """
        number = siphash(self._key, url)
        at = number & self._mask
        # The URL that is there is popular, and has a second chance, as in CLOCK.
        if self._referenced[at]:
            self._referenced[at] = 0
        else:
            self._fetched[at] = number
        for place in (at, at ^ 1):
            if self._owners[place] == number:
                amount = self._amounts[place]
                self._owners[place] = 0
                self._amounts[place] = 0.0
                return amount
        return 0.0

    def save(self) -> bytes:
        """Return the bytes that `restore` needs: URLs with amounts, fetched URLs, and `forgotten`."""
        amounts = np.frombuffer(self._amounts)
        fetched = np.frombuffer(self._fetched, np.uint64)
        held = amounts > 0
        owners = np.frombuffer(self._owners, np.uint64)[held]
        rows = (
            owners.tobytes(),
            amounts[held].tobytes(),
            fetched[fetched > 0].tobytes(),
            self.forgotten,
        )
        return pack(msgpack.packb(rows))

    def restore(self, data: bytes) -> None:
        """Fill an empty table with what was saved.

        If there are fewer cells than before, URLs with more are kept rather than others.
        """
        owners, amounts, fetched, self.forgotten = msgpack.unpackb(unpack(data))
        mask = self._mask
        for number in array("Q", fetched):
            self._fetched[number & mask] = number
        # The largest amounts come first, and find their cells free.
        rows = sorted(zip(array("d", amounts), array("Q", owners), strict=True), reverse=True)
        for amount, number in rows:
            at = number & mask
            if self._amounts[at]:
                at ^= 1  # the neighbour
            if self._amounts[at]:
                self.forgotten += amount
            else:
                self._owners[at] = number
                self._amounts[at] = amount


class Prioritizer(Protocol):
    """A prioritizer is constructed with FRONTIER_LEVELS."""

    def __init__(self, levels: int) -> None: ...

    def level(self, link: Link) -> int:
        """Return the link's level, from 0 (first) to levels - 1 (last)."""


def goes_by_way(prioritizer: Prioritizer) -> bool:
    """Return whether the level of a link does not depend on its URL.

    The class itself says so, for a subclass may differ.
    """
    return bool(vars(type(prioritizer)).get("by_way", False))


@runtime_checkable
class Informed(Protocol):
    """A prioritizer that wants to know how many other domains link to that of a URL: it is given a
    function.
    """

    def inform(self, links_to: Callable[[str], int], /) -> None: ...


@runtime_checkable
class Choosing(Protocol):
    """A prioritizer whose order changes while URLs wait: it is asked again when they reach the head
    of their queue.
    """

    def worth(self, url: str, /) -> float:
        """Return the more the sooner."""


@runtime_checkable
class Learning(Protocol):
    """A prioritizer that hears the links of every page, and keeps what it learns in a table, which
    is saved.
    """

    def learn(self, table: Popularity, /) -> None:
        """Get the table, as the last checkpoint left it."""

    def heard(self, page: str, urls: Sequence[str], /) -> None:
        """A page that was fetched links to these distinct canonical URLs."""


@runtime_checkable
class Focused(Protocol):
    """A prioritizer that goes by what a SCORER says of pages, or by their languages."""

    def focus(self, site: Callable[[str], str], languages: Sequence[str], /) -> None:
        """`site`: the registered domain of a host; `languages`: FOCUS_LANGUAGES."""

    def scored(self, page: str, scored: PageScores, /) -> None:
        """A page was fetched, and this was said of it; its links are heard next."""
