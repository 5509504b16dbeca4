"""The registered domains of the seeds, a million in 8 MB."""

from __future__ import annotations

import numpy as np
from siphashc import siphash

_PENDING = 2**16


class SeedDomains:
    """A set of names as sorted 64-bit fingerprints, which grows while seeds are read.

    A lookup is wrongly positive with probability n / 2^64; the key prevents constructed collisions.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._sorted = np.empty(0, np.uint64)
        self._pending: set[int] = set()

    def __len__(self) -> int:
        return len(self._sorted) + len(self._pending)

    def __contains__(self, domain: str) -> bool:
        value = siphash(self._key, domain)
        if value in self._pending:
            return True
        number = np.uint64(value)
        place = int(self._sorted.searchsorted(number))
        return place < len(self._sorted) and bool(self._sorted[place] == number)

    def add(self, domain: str) -> None:
        """Add this domain, unless it is known."""
        if domain not in self:
            self._pending.add(siphash(self._key, domain))
            if len(self._pending) >= _PENDING:
                self._merge()

    def state(self) -> bytes:
        """The sorted fingerprints as little-endian 8-byte numbers."""
        self._merge()
        return self._sorted.astype("<u8").tobytes()

    def restore(self, state: bytes) -> None:
        """Restore what `state` returned under the same key."""
        if len(state) % 8:
            raise ValueError(f"seed domains: {len(state)} bytes are not a whole number of fingerprints")
        values = np.frombuffer(state, "<u8").astype(np.uint64)
        if len(values) > 1 and not bool((values[:-1] < values[1:]).all()):
            raise ValueError("seed domains: the fingerprints are not in order")
        self._sorted, self._pending = values, set()

    def _merge(self) -> None:
        fresh = np.fromiter(self._pending, np.uint64, len(self._pending))
        self._sorted = np.sort(np.concatenate([self._sorted, fresh]))
        self._pending = set()
