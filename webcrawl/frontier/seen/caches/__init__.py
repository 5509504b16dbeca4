"""The interface of URL caches (Broder, Najork, Wiener: Efficient URL Caching, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class UrlCache(Protocol):
    """A bounded memory of fingerprints.

    A key never requested before must be a miss, or its URL would be lost.
    """

    def misses(self, keys: Sequence[int]) -> Sequence[int]:
        """Look up keys in turn, adding those it does not hold, and return the ascending positions
        of these.
        """

    def __len__(self) -> int:
        """Return the number of keys held."""
