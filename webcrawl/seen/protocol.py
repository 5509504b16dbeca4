"""What every seen store does: the duplicate URL eliminator as its callers meet it (Mercator, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from webcrawl.seen.caches.protocol import UrlCache
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile


class SeenStore(Protocol):
    """Takes records with their fingerprints, gives back each record whose fingerprint is new: once, in order.

    Saved with every checkpoint of its CrawlDB. Any method may raise StoreError; then the store is of no more
    use, and the state on disk is the last checkpoint's.
    """

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> None:
        """A page's links: 64-bit fingerprints, and what `take` is to give back for the new ones."""

    def take(self, limit: int) -> list[bytes]:
        """At most so many new records, in the order of their first submission; empty if none is known yet."""

    def merge(self) -> None:
        """Finds out now which of the waiting records are new, if any waits and nothing is under way."""

    @property
    def pending(self) -> int:
        """Records that are, or may turn out to be, still to be taken."""

    @property
    def busy(self) -> bool:
        """Whether a merge is under way. `on_ready` is called when it has ended, mostly from its thread."""

    def stats(self) -> dict[str, int | float]:
        """Counters since the crawl began, and sizes."""

    def check(self) -> Iterator[DamagedFile]:
        """Each damaged place of what the store keeps on disk."""

    def close(self) -> None:
        """Stops at once; what happened since the last checkpoint is left to it."""


class SeenStoreFactory(Protocol):
    """How a seen store is made: what the setting's dotted path names."""

    def __call__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,
    ) -> SeenStore:
        """`memory` in bytes."""
