"""The interface of seen stores: the duplicate URL eliminator as its callers use it (Mercator, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from webcrawl.seen.caches.protocol import UrlCache
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile


class SeenStore(Protocol):
    """Takes records with their fingerprints; returns each record whose fingerprint is new, once and in order.

    Saved with every checkpoint of its CrawlDB. Any method may raise StoreError; then the store is unusable, and the
    state on disk is that of the last checkpoint.
    """

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> None:
        """Submits a page's links: 64-bit fingerprints, and the records that `take` returns for new ones."""

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
        """Whether a merge is running. `on_ready` is called when it has ended, usually from its thread."""

    def stats(self) -> dict[str, int | float]:
        """Counters since the crawl began, and current sizes."""

    def check(self) -> Iterator[DamagedFile]:
        """Yields each damaged place in the store's state on disk."""

    def close(self) -> None:
        """Stops at once, without saving."""


class SeenStoreFactory(Protocol):
    """What SEEN_STORE names: a class or function that makes a seen store."""

    def __call__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,
    ) -> SeenStore:
        """`memory` is in bytes."""
