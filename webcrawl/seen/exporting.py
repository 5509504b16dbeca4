"""What a seen store can do beside the ordinary, so that its keys can move to another crawl of the same hive."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from webcrawl.store.runs import Keys, between


class SortedKeys(Protocol):
    """Keys in ascending order."""

    def next(self, low: int, high: int, most: int) -> Keys:
        """The first ones with low <= key <= high, at most so many: go on behind the last one."""


class Snapshot:
    """Ascending keys in memory."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self._keys)} keys>"

    def next(self, low: int, high: int, most: int) -> Keys:
        found: Keys = between(self._keys[None], low, high)[0]
        return found[:most]


@runtime_checkable
class ExportsKeys(Protocol):
    """DiskSeen and MemorySeen do; a Bloom filter has no keys."""

    def mark(self) -> int:
        """How many records were submitted so far."""

    def decided(self, mark: int) -> bool:
        """Whether it is known of all records before this mark which are new; `merge` makes that come true soon."""

    def merge(self) -> None:
        """As every seen store does."""

    def sorted_keys(self) -> SortedKeys:
        """All keys that are known. That of a decided record is among them, whether or not the record was taken."""
