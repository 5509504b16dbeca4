"""A cache of recently submitted URLs in front of the filters, like the URL cache in front of the seen store.

Most links of a page are known already. For those the cache saves filters, fingerprint, record and submission: 3 us of 4
(docs/decisions/urls-links.md).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence


class RecentUrls:
    """Remembers URLs by Python's hashes: 64 bits, with a new key in every process.

    Each hash has one place of 8 bytes, which keeps the latest; a set of as many would take ten times the memory.
    """

    def __init__(self, size: int) -> None:
        """Rounds `size`, the number of places, up to a power of two."""
        self._places = array("q", (0,)) * (1 << max(0, size - 1).bit_length())
        self._mask = len(self._places) - 1
        self.absorbed = 0  # URLs left out so far

    def __repr__(self) -> str:
        return f"<RecentUrls of {len(self._places)}>"

    def __contains__(self, url: str) -> bool:
        return self._places[(number := hash(url)) & self._mask] == number

    def clear(self) -> None:
        """Forget all."""
        self._places = array("q", (0,)) * len(self._places)

    def unknown(self, urls: Sequence[str]) -> list[str]:
        """The URLs that are not remembered, in their order."""
        places, mask = self._places, self._mask
        unknown = [url for url in urls if places[(number := hash(url)) & mask] != number]
        self.absorbed += len(urls) - len(unknown)
        return unknown

    def add(self, urls: Iterable[str]) -> None:
        """Remember these URLs."""
        places, mask = self._places, self._mask
        for number in map(hash, urls):
            places[number & mask] = number
