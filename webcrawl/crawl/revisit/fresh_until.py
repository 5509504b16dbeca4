"""Pages whose owners say that they hold for so long: nobody fetches them before, however early the queue is.

The queue of due times is no clock: policies count from where it has come to, and that may be days ahead. So a record
whose turn comes too early waits here, by the clock, and then goes back to where the queue is by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from webcrawl.crawl.revisit.buckets import HELD, TIME, Buckets, seconds_of, stamp, ticks
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.frontier.fifo import BLOCK, Blocks, Pool
from webcrawl.store.crawldb import CrawlDB

LONGEST = 86_400  # seconds for which an owner is believed at most: many a site gives a year to everything
SLICE = 256  # records that go back at once: after a month of rest there may be a million


class Held:
    """Entries of the queue of revisits, each but the time at which it begins. Part of each checkpoint."""

    def __init__(self, db: CrawlDB, blocks: Blocks, memory: int) -> None:
        """`blocks`: where the other queue has its own, too."""
        self._buckets = Buckets(db, Pool(blocks, memory, inline=BLOCK), HELD)

    def __len__(self) -> int:
        return self._buckets.count

    def holds(self, record: PageRecord, entry: bytes, now: float) -> bool:
        """Takes the entry, and returns True, if it is too early for this page.

        A promise for longer than any was given when the clock was wrong.
        """
        if not now < record.holds <= now + LONGEST + 1:
            return False
        self._buckets.push(stamp(ticks(record.holds)) + entry[TIME:])
        return True

    def free(self, now: float) -> Iterator[bytes]:
        """Some of those whose time has come, which are removed here."""
        for _ in range(SLICE if self._buckets.count else 0):
            at = self._buckets.first()
            if at is None or at > ticks(now):
                break
            yield self.pop() or b""

    def pop(self) -> bytes | None:
        """Removes the next one, whenever its time comes; None if there is none."""
        entry = self._buckets.pop()
        return None if entry is None else entry[TIME:]

    def next(self) -> float | None:
        """The time at which the next one goes back."""
        at = self._buckets.first() if self._buckets.count else None
        return None if at is None else seconds_of(at)

    def prepare(self) -> Iterator[None]:
        """Writes most of it ahead of a checkpoint."""
        yield from self._buckets.prepare()

    def save(self) -> None:
        """Writes the rest."""
        self._buckets.save()
