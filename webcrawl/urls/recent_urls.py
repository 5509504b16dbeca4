"""A cache of recently submitted URLs in front of the filters.

Most links of a page are known already. For those the cache saves filters, fingerprint, record and
submission: 3 us of 4. In front of the canonical form it would know half as many, because one URL is
written as `/x`, `../x` and `http://h/x`. The seen store has such a cache, too, for URLs that do not
pass here: requests of spiders and batches of drones.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import compress

import numpy as np


class RecentUrls:
    """Remembers URLs by Python's hashes: 64 bits, with a new key in every process.

    Each hash has one place of 8 bytes, which keeps the latest; a set of as many would take ten
    times the memory.
    """

    def __init__(self, size: int) -> None:
        """Round `size`, the number of places, up to a power of two."""
        self._places = np.zeros(1 << max(0, size - 1).bit_length(), np.int64)
        self._mask = len(self._places) - 1
        self.absorbed = 0  # URLs left out so far

    def __repr__(self) -> str:
        return f"<RecentUrls of {len(self._places)}>"

    def __contains__(self, url: str) -> bool:
        return int(self._places[(number := hash(url)) & self._mask]) == number

    def clear(self) -> None:
        self._places = np.zeros(len(self._places), np.int64)

    def unknown(self, urls: Sequence[str]) -> list[str]:
        """Return the URLs that are not remembered, in their order.

        Looked up all at once, they wait for memory together.
        """
        # SipHash with a key of this process: no site can make two URLs of one hash, and by chance a
        # URL is taken for another once in 10^19 links
        numbers = np.fromiter(map(hash, urls), np.int64, len(urls))
        unknown = [*compress(urls, (self._places[numbers & self._mask] != numbers).tolist())]
        self.absorbed += len(urls) - len(unknown)
        return unknown

    def add(self, urls: Collection[str]) -> None:
        numbers = np.fromiter(map(hash, urls), np.int64, len(urls))
        # What had the place before is submitted again if it comes again: the seen store knows it
        self._places[numbers & self._mask] = numbers
