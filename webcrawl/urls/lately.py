"""The URLs that passed lately: a cache before the filters, as the URL cache is one before the seen store.

Most links of a page are known already: with them, filters, fingerprint, record and submission are saved, 3 us of 4
(docs/decisions/urls-known-links.md).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable


class Lately:
    """Remembers URLs by Python's hashes: 64 bits, keyed anew in every process.

    Each hash has one place, 8 bytes, in which the last one stays: a set of as many would take ten times the memory.
    """

    def __init__(self, size: int) -> None:
        """Places: so many, or up to twice as many."""
        self._places = array("q", bytes(8 << max(0, size - 1).bit_length()))
        self._mask = len(self._places) - 1

    def __repr__(self) -> str:
        return f"<Lately of {len(self._places)}>"

    def unknown(self, urls: Iterable[str]) -> list[str]:
        """Those that are not remembered, in their order."""
        places, mask = self._places, self._mask
        return [url for url in urls if places[(number := hash(url)) & mask] != number]

    def add(self, urls: Iterable[str]) -> None:
        """These are remembered from now on."""
        places, mask = self._places, self._mask
        for number in map(hash, urls):
            places[number & mask] = number
