"""Fingerprints with the slot in front, so that those of a slot are one range of the sorted files, and can be moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from siphashc import siphash

from webcrawl.hive.slots import SLOTS
from webcrawl.urls.fingerprint import Fingerprints
from webcrawl.urls.hosts import host_of

HASH = 54  # bits below those of the slot
AUTHORITY = 9  # a slash from here on ends the host of a URL; one that ends a shorter URL's earlier is passed over
CACHED = 1 << 16  # beginnings of URLs, one per scheme and host


class SlotFingerprints(Fingerprints):
    """Ten bits of the slot, 54 of the hash. Slots of the same number in several groups share a range."""

    def __init__(self, key: bytes, slot_of: Callable[[str], int]) -> None:
        """`slot_of` names the slot of a host."""
        super().__init__(key)

        def above(start: str) -> int:
            return slot_of(host_of(f"{start}/")) % SLOTS << HASH

        self._above = lru_cache(CACHED)(above)

    def __call__(self, urls: Iterable[str], asked: Iterable[str] = ()) -> list[int]:
        """The slot is that of the URL as it is asked for: whoever asks has to know the fingerprint."""
        key, above = self._key, self._above
        low = 64 - HASH
        return [
            above(url[: url.find("/", AUTHORITY)]) | siphash(key, compared) >> low
            for compared, url in zip(urls, asked, strict=True)
        ]


def range_of(slot: int) -> tuple[int, int]:
    """The first and the last fingerprint that a URL of this slot may have."""
    low = slot % SLOTS << HASH
    return low, low | (1 << HASH) - 1
