"""What all seen stores have in common: the interface that their callers use, their state, and their
share of memory.

A seen store is the duplicate URL eliminator (Mercator, section 3.2). Its keys may move to another
crawl of the same hive. The first step of every store is the URL cache, which drops what was
submitted recently. Calculations and measurements of the sizes are in docs/seen-store.md.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.runs import Keys

# before a number, in the table meta: a row of the log of a Bloom filter's keys
KEY_ROWS = "seen.keys."
BLOOM_FILE = "seen.bloom"  # key in the table meta: the name of the file with a Bloom filter's bits
# entries of the URL cache: Broder, Najork and Wiener find 50,000 enough for any crawl
CACHE_SIZE = 65_536
# bytes per entry of the URL cache while its table grows: CLOCK 234, LRU 252, RANDOM 141
CACHE_ENTRY = 250


@dataclass(slots=True, frozen=True)
class Layout:
    """The sizes of the eliminator's parts."""

    chunk: int  # most keys of T in memory before they are spilled
    # Rows that a merge handles at once. With 100,000 of them its arrays stay in the processor's
    # cache: 0.19 us per key with 30 million keys in F, and 0.28 in one piece.
    budget: int
    largest: int  # most records per merge: T grows with F up to here
    least: int = 1 << 18  # fewest keys of T per merge, however small F is: 2 MiB
    row: int = 8192  # records per row of U: half a megabyte of 70-byte URLs, compressed in 1 ms
    fresh: int = 1 << 17  # most keys of F in memory: a megabyte to write at a checkpoint
    # most records that an early merge handles in the caller's thread, if F is in memory: 1 ms
    at_once: int = 4096
    # T grows to this share of F. From a twentieth on the share makes no difference while F is in
    # the page cache. A tenth leaves room for slower disks.
    share: float = 0.1
    # A merge rewrites runs up to this many times as large as what it writes anyway. From a half to
    # four, a key costs the same. Runs should be few, because an early merge reads one page of each
    # run per key; but rewriting wears out disks.
    growth: float = 1.0


def cache_size(memory: int) -> int:
    """Entries of the URL cache, which has half of the bytes for all seen stores at most."""
    return min(CACHE_SIZE, memory // 2 // CACHE_ENTRY)


def shares(memory: int) -> tuple[int, int]:
    """Split the bytes for all seen stores into those of the URL store and the content store, after
    the URL cache.
    """
    content = memory // 8
    return max(memory // 8, memory - content - CACHE_ENTRY * cache_size(memory)), content


def layout(memory: int) -> Layout:
    """Five eighths of the bytes for T, a sixteenth for a merge's rows, an eighth for verdicts.

    The rest is reserve.

    In the worst case T has a filling chunk, one being spilled and the last one of T', the latter
    two with their sort order: 40 bytes per key. A row in a merge takes 128 bytes; a verdict two
    bits, for this merge and the next.
    """
    return Layout(
        chunk=max(1, memory // 64), budget=max(1, memory // 2048), largest=max(1, memory // 2)
    )


STATE = "seen.state"


@dataclass(slots=True)
class SeenState:
    """Saved as JSON, so that it is readable in the sqlite3 shell."""

    store: str  # the kind of store: each kind reads the tables differently
    begin: int = 0  # ordinal of the first record not yet taken
    judged: int = 0  # ordinal up to which records are decided: new or not
    end: int = 0  # ordinal of the next record
    submitted: int = 0
    cache_hits: int = 0
    new: int = 0
    merges: int = 0
    merge_seconds: float = 0.0

    def save(self, db: CrawlDB, begin: int, judged: int, end: int) -> None:
        self.begin = begin
        self.judged = judged
        self.end = end
        db.set(STATE, json.dumps(asdict(self)).encode())

    def stats(self, *, waiting: int, keys: int, runs: int = 0) -> dict[str, int | float]:
        """Return the counters by name.

        A waiting record counts neither as new nor as a duplicate.
        """
        return {
            "submitted": self.submitted,
            "cache_hits": self.cache_hits,
            "cache_hit_rate": self.cache_hits / self.submitted if self.submitted else 0.0,
            "new": self.new,
            "duplicates": self.submitted - self.new - waiting,
            "merges": self.merges,
            "merge_seconds": self.merge_seconds,
            "waiting": waiting,
            "keys": keys,
            "runs": runs,
        }


def load_state(db: CrawlDB, store: str) -> SeenState:
    """Return the state at the last checkpoint, or an initial one in a new crawl."""
    value = db.get(STATE)
    if value is None:
        return SeenState(store)
    try:
        state = SeenState(**json.loads(value))
    except (ValueError, TypeError) as error:
        raise DamagedFile(db.path, 0, f"table meta, {STATE}: {error}") from error
    if state.store != store:
        raise StoreError(
            f"{db.path}: this crawl was started with the seen store {state.store!r}, not {store!r}"
        )
    return state


class SeenStore(Protocol):
    """Takes records with their fingerprints.

    Returns each record whose fingerprint is new, once and in order.

    Saved with every checkpoint of its CrawlDB. Any method may raise StoreError; then the store is
    unusable, and the state on disk is that of the last checkpoint.
    """

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        """Submit a page's links: fingerprints of 64 bits, and the records for `pop_new` to return.

        Return how many of them may be new. The others are known already, and it is known at once.
        """

    def pop_new(self, limit: int) -> list[bytes]:
        """At most `limit` new records, in order of first submission; empty if none is known yet.

        Also empty after many records that were known, so that no call takes long: `on_ready` is
        called then.
        """

    def merge(self) -> None:
        """Start deciding which of the waiting records are new, unless none waits or a merge is
        already running.
        """

    @property
    def pending(self) -> int:
        """The number of records that `pop_new` returns now or may return later."""

    @property
    def busy(self) -> bool:
        """Return whether a merge is running.

        `on_ready` is called when it has ended, usually from its thread.
        """

    def stats(self) -> dict[str, int | float]:
        """Counters since the crawl began, and current sizes."""

    def close(self) -> None:
        """Stop at once, without saving."""


class SortedKeys(Protocol):
    """Keys in ascending order."""

    def next(self, low: int, high: int, most: int) -> Keys:
        """Return the first ones with low <= key <= high, at most so many.

        Go on behind the last one.
        """


@runtime_checkable
class ExportsKeys(Protocol):
    """DiskSeen does; a Bloom filter has no keys."""

    def mark(self) -> int:
        """Return the number of records that were submitted so far."""

    def decided(self, mark: int) -> bool:
        """Return whether it is known of all records before this mark which are new.

        `merge` makes that come true soon.
        """

    def merge(self) -> None:
        """As every seen store does."""

    def sorted_keys(self) -> SortedKeys:
        """Return all keys that are known.

        That of a decided record is among them, whether or not the record was taken.
        """


def unseen_lately(
    cache: UrlCache, state: SeenState, keys: Sequence[int], records: Sequence[bytes]
) -> tuple[array[int], Sequence[bytes]]:
    """Return the part of a batch that misses the cache, and update the counters."""
    if len(keys) != len(records):
        raise ValueError(f"{len(keys)} keys for {len(records)} records")
    batch = array("Q", keys)  # raises for anything but 64-bit keys, before any change
    missed = cache.misses(batch)
    state.submitted += len(batch)
    if len(missed) == len(batch):
        return batch, records
    state.cache_hits += len(batch) - len(missed)
    return array("Q", [batch[at] for at in missed]), [records[at] for at in missed]
