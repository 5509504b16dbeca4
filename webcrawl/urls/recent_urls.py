"""A cache of recently submitted URLs in front of the filters, like the URL cache in front of the seen store.

Most links of a page are known already. For those the cache saves filters, fingerprint, record and submission: 3 us of 4
(docs/decisions/urls-links.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import compress
from typing import Any

import numpy as np

from webcrawl.base.native import NATIVE


class RecentUrls:
    """Remembers URLs by hashes of 64 bits, with a new key in every process: Python's, or the native reader's own.

    Each hash has one place of 8 bytes, which keeps the latest; a set of as many would take ten times the memory.
    """

    def __init__(self, size: int) -> None:
        """Rounds `size`, the number of places, up to a power of two."""
        self._table: Any = _Places(size) if NATIVE is None else NATIVE.Recent(size)
        self.native = self._table if NATIVE is not None else None
        self.absorbed = 0  # URLs left out so far

    def __repr__(self) -> str:
        return f"<RecentUrls of {len(self._table)}>"

    def __contains__(self, url: str) -> bool:
        return url in self._table

    def clear(self) -> None:
        self._table.clear()

    def unknown(self, urls: Sequence[str]) -> list[str]:
        """The URLs that are not remembered, in their order."""
        unknown: list[str] = self._table.unknown(urls)
        self.absorbed += len(urls) - len(unknown)
        return unknown

    def add(self, urls: Collection[str]) -> None:
        self._table.add(urls)


class _Places:
    """The table where the native reader is missing."""

    def __init__(self, size: int) -> None:
        self._places = np.zeros(1 << max(0, size - 1).bit_length(), np.int64)
        self._mask = len(self._places) - 1

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, url: str) -> bool:
        return int(self._places[(number := hash(url)) & self._mask]) == number

    def clear(self) -> None:
        self._places = np.zeros(len(self._places), np.int64)

    def unknown(self, urls: Sequence[str]) -> list[str]:
        """Return those that are not remembered. Looked up all at once, they wait for memory together."""
        numbers = np.fromiter(map(hash, urls), np.int64, len(urls))
        return [*compress(urls, (self._places[numbers & self._mask] != numbers).tolist())]

    def add(self, urls: Collection[str]) -> None:
        numbers = np.fromiter(map(hash, urls), np.int64, len(urls))
        self._places[numbers & self._mask] = numbers
