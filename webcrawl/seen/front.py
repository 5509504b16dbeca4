"""The first step of every seen store: the URL cache drops what was submitted recently."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from webcrawl.seen.caches.protocol import UrlCache
from webcrawl.seen.state import State


def unseen_lately(
    cache: UrlCache, state: State, keys: Sequence[int], records: Sequence[bytes]
) -> tuple[array[int], Sequence[bytes]]:
    """The part of a batch that misses the cache; updates the counters."""
    if len(keys) != len(records):
        raise ValueError(f"{len(keys)} keys for {len(records)} records")
    batch = array("Q", keys)  # raises for anything but 64-bit keys, before any change
    missed = cache.misses(batch)
    state.submitted += len(batch)
    if len(missed) == len(batch):
        return batch, records
    state.cache_hits += len(batch) - len(missed)
    return array("Q", [batch[at] for at in missed]), [records[at] for at in missed]
