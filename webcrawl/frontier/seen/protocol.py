"""The interface of seen stores: the duplicate URL eliminator as its callers use it (Mercator, section 3.2).

Also what a store does so that its keys can move to another crawl of the same hive, and the first step of every store:
the URL cache drops what was submitted recently.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from webcrawl.frontier.seen.caches.protocol import UrlCache
from webcrawl.frontier.seen.state import State
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Keys, between


class SeenStore(Protocol):
    """Takes records with their fingerprints; returns each record whose fingerprint is new, once and in order.

    Saved with every checkpoint of its CrawlDB. Any method may raise StoreError; then the store is unusable, and the
    state on disk is that of the last checkpoint.
    """

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        """Submits a page's links: 64-bit fingerprints, and the records that `take` returns for new ones.

        Returns how many of them may be new. The others are known already, and it is known at once.
        """

    def take(self, limit: int) -> list[bytes]:
        """At most `limit` new records, in order of first submission; empty if none is known yet.

        Also empty after many records that were known, so that no call takes long: `on_ready` is called then.
        """

    def merge(self) -> None:
        """Starts deciding which of the waiting records are new, unless none waits or a merge is already running."""

    @property
    def pending(self) -> int:
        """The number of records that `take` returns now or may return later."""

    @property
    def busy(self) -> bool:
        """True if a merge is running. `on_ready` is called when it has ended, usually from its thread."""

    def stats(self) -> dict[str, int | float]:
        """Counters since the crawl began, and current sizes."""

    def check(self) -> Iterator[DamagedFile]:
        """Yields each damaged place in the store's state on disk."""

    def close(self) -> None:
        """Stops at once, without saving."""


class SortedKeys(Protocol):
    """Keys in ascending order."""

    def next(self, low: int, high: int, most: int) -> Keys:
        """The first ones with low <= key <= high, at most so many: go on behind the last one."""


class Snapshot:
    """Ascending keys in memory."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def next(self, low: int, high: int, most: int) -> Keys:
        found: Keys = between(self._keys[None], low, high)[0]
        return found[:most]


@runtime_checkable
class ExportsKeys(Protocol):
    """DiskSeen does; a Bloom filter has no keys."""

    def mark(self) -> int:
        """The number of records that were submitted so far."""

    def decided(self, mark: int) -> bool:
        """True if it is known of all records before this mark which are new; `merge` makes that come true soon."""

    def merge(self) -> None:
        """As every seen store does."""

    def sorted_keys(self) -> SortedKeys:
        """All keys that are known. That of a decided record is among them, whether or not the record was taken."""


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
