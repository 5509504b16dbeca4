"""The way into every seen store: through the URL cache, which drops what was submitted lately."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from webcrawl.seen.caches.protocol import UrlCache
from webcrawl.seen.state import State


def unseen_lately(
    cache: UrlCache, state: State, keys: Sequence[int], records: Sequence[bytes]
) -> tuple[array[int], Sequence[bytes]]:
    """Of a batch, what misses the cache; counted."""
    if len(keys) != len(records):
        raise ValueError(f"{len(keys)} keys for {len(records)} records")
    batch = array("Q", keys)  # refuses what is no 64-bit key before anything has changed
    missed = cache.misses(batch)
    state.submitted += len(batch)
    if len(missed) == len(batch):
        return batch, records
    state.cache_hits += len(batch) - len(missed)
    return array("Q", [batch[at] for at in missed]), [records[at] for at in missed]
