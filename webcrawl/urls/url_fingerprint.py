"""The keyed hashes that represent URLs (64 bits) and bodies (128 bits) in the seen stores.

Each crawl draws its own key: with a public hash, a hostile site could construct collisions with other sites' pages.

Beside them, a cache of recently submitted URLs in front of the filters, like the URL cache in front of the seen store.
Most links of a page are known already. For those the cache saves filters, fingerprint, record and submission: 3 us of 4
(docs/decisions/urls-links.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import compress, repeat

import numpy as np
from blake3 import blake3
from siphashc import siphash

KEY_BYTES = 16
CONTENT = "webcrawl 2026-11-20 content seen"  # BLAKE3 requires a separate key for each purpose


class Fingerprints:
    """URLs in comparison form -> 64-bit numbers, by SipHash-2-4 (3.2 us for 40; keyed blake2b takes 25)."""

    def __init__(self, key: bytes) -> None:
        _check(key)
        self._key = key

    def __call__(self, urls: Iterable[str], asked: Iterable[str] = ()) -> list[int]:
        """The fingerprints of a batch, in the same order. `asked`: the URLs as they are asked for, without effect here.

        In a hive they say whose they are (crawl/hive/partition.py).
        """
        del asked
        return [*map(siphash, repeat(self._key), urls)]


class ContentDigests:
    """Bodies -> 16 bytes, by keyed BLAKE3 (docs/decisions/urls-links.md)."""

    def __init__(self, key: bytes) -> None:
        _check(key)
        self._keyed = blake3(key=blake3(key, derive_key_context=CONTENT).digest())

    def __call__(self, body: bytes) -> bytes:
        """The digest of one body."""
        digest = self._keyed.copy()
        digest.update(body)
        return digest.digest(16)


def _check(key: bytes) -> None:
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")


class RecentUrls:
    """Remembers URLs by Python's hashes: 64 bits, with a new key in every process.

    Each hash has one place of 8 bytes, which keeps the latest; a set of as many would take ten times the memory.
    """

    def __init__(self, size: int) -> None:
        """Rounds `size`, the number of places, up to a power of two."""
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
        """The URLs that are not remembered, in their order. Looked up all at once, they wait for memory together."""
        numbers = np.fromiter(map(hash, urls), np.int64, len(urls))
        unknown = [*compress(urls, (self._places[numbers & self._mask] != numbers).tolist())]
        self.absorbed += len(urls) - len(unknown)
        return unknown

    def add(self, urls: Collection[str]) -> None:
        numbers = np.fromiter(map(hash, urls), np.int64, len(urls))
        self._places[numbers & self._mask] = numbers
