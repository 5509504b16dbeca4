"""What every URL cache policy does (Broder, Najork, Wiener: Efficient URL Caching, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class UrlCache(Protocol):
    """A bounded memory of fingerprints; a key it never met is always a miss, or its URL would be lost."""

    def misses(self, keys: Sequence[int]) -> Sequence[int]:
        """The positions, ascending, of the keys that were not held when their turn came."""

    def __len__(self) -> int:
        """How many keys are held now."""
