"""Mercator's duplicate URL eliminator (section 3.2), for crawls of any size: the default seen
store.

Cache misses go to T and U (waiting_records.py). When T is large enough, a thread merges it with F
(known_keys.py), and the new records of U come out in the order of submission.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from types import TracebackType

import numpy as np

from webcrawl.base.errors import words_of
from webcrawl.base.readable import count
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.known_keys import Buffer, Frozen, KnownKeys, Sweep, Swept
from webcrawl.frontier.seen.protocol import Layout, SortedKeys, layout, load_state, unseen_lately
from webcrawl.frontier.seen.sorted_keys import Names
from webcrawl.frontier.seen.waiting_records import PIECE, Verdicts, WaitingRecords
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

# Known records that one `pop_new` passes over, or up to twice as many: four rows of U, which may
# have to be read from a busy disk.
PASSED = PIECE


class Fuse:
    """A context for everything that changes a store. After a failure memory may be inconsistent.

    So every later use raises StoreError, and the last checkpoint stays in force. OSError is raised
    as StoreError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.failure: BaseException | None = None

    def __enter__(self) -> None:
        if self.failure is not None:
            raise StoreError(
                f"{self._folder}: cannot be used after an earlier error: {words_of(self.failure)}"
            ) from self.failure

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is not None:
            self.failure = error
        if isinstance(error, OSError):
            raise StoreError(f"{self._folder}: {error}") from error


class DiskSeen:
    """The duplicate URL eliminator, with the names of Mercator's paper for its parts.

    T has the keys that wait for a merge, U the records of these keys, F the keys of all URLs found
    so far. A *verdict* says of a record in U whether it is new. Not thread-safe; the threads that it
    starts never touch the database.
    """

    def __init__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,
        sizes: Layout | None = None,
    ) -> None:
        self._db = db
        self._cache = cache
        self._on_ready = on_ready
        self._sizes = sizes or layout(memory)
        self._state = load_state(db, "disk")
        self._u = WaitingRecords(db, self._state.begin, self._state.end, self._sizes.row)
        self._verdicts = Verdicts(db, self._state.begin, self._state.judged)
        self._f = KnownKeys(db, fresh_limit=self._sizes.fresh, growth=self._sizes.growth)
        self._frozen: Frozen | None = None  # T', the keys that a merge under way merges
        self._merging: Future[Swept] | None = None
        self._stop = Event()  # set by `close`, for the thread that merges
        self._enough = 0  # keys in T from which on a merge begins
        self._fuse = Fuse(db.folder)
        with contextlib.ExitStack() as opened:
            opened.callback(self._f.close)
            self._worker = Worker()
            opened.callback(self._worker.close)
            self._t = Buffer(Names(db.folder, db.disk, "scratch"), db.disk)
            opened.callback(self._t.close)
            self._grow()
            # T is not saved: it has the keys of all records that wait for their verdicts.
            with self._fuse:
                for keys in self._u.keys_from(self._state.judged):
                    self._t.append(keys)
            opened.pop_all()
        db.join(self)

    def __repr__(self) -> str:
        return f"<DiskSeen pending={self.pending} busy={self.busy} {self._t!r} {self._f!r}>"

    # -- the caller's side

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        """Add what the cache does not know to T and U; begin a merge if T is large enough."""
        self._advance()
        batch, missed = unseen_lately(self._cache, self._state, keys, records)
        with self._fuse:
            self._t.append(np.frombuffer(batch, np.uint64))
            self._u.append(batch, missed)
            if self._merging is None and self._t.count >= self._enough:
                self._start()
        return len(missed)

    def pop_new(self, limit: int) -> list[bytes]:
        """Return up to `limit` records that merges have found new; drop the known ones before."""
        self._advance()
        taken: list[bytes] = []
        with self._fuse:
            begin = self._u.begin
            end = self._verdicts.end
            while len(taken) < limit:
                # Taken records do not count as passed over.
                last = min(end, begin + len(taken) + PASSED)
                if self._u.begin >= last:
                    break
                taken += self._u.pop_records(
                    *self._verdicts.next(self._u.begin, limit - len(taken))
                )
        # If PASSED records in a row were known, the caller is told to come again for the rest.
        if not taken and self._u.begin < self._verdicts.end:
            self._tell_ready()
        return taken

    def merge(self) -> None:
        """Decide on the keys in T: at once if they are few and F is in memory, else in a thread."""
        self._advance()
        if self._merging is not None or not self._t.count:
            return
        with self._fuse:
            if self._t.count <= self._sizes.at_once and self._f.holds(self._t.count):
                self._adopt(self._sweep().run())
            else:
                self._start()

    @property
    def pending(self) -> int:
        return self._u.end - self._verdicts.end + self._verdicts.left

    @property
    def busy(self) -> bool:
        return self._merging is not None and not self._merging.done()

    def stats(self) -> dict[str, int | float]:
        waiting = self._u.end - self._verdicts.end
        return self._state.stats(waiting=waiting, keys=len(self._f), runs=self._f.files)

    # -- moving to another crawl (protocol.py)

    def mark(self) -> int:
        return self._u.end

    def decided(self, mark: int) -> bool:
        self._advance()
        return self._verdicts.end >= mark

    def sorted_keys(self) -> SortedKeys:
        return self._f

    # -- merging

    def _grow(self) -> None:
        """Set the size of T from which on it is merged, in proportion to F.

        So the cost of reading F per key of T stays constant (docs/seen-store.md).
        """
        sizes = self._sizes
        least = min(sizes.least, sizes.chunk)
        # Mercator's T had a fixed size. In the end a merge took longer than T took to fill.
        self._enough = max(least, min(int(sizes.share * len(self._f)), sizes.largest))
        self._t.size = min(sizes.chunk, self._enough)

    def _sweep(self) -> Sweep:
        """Freeze T, and return its merge with F, ready to run."""
        self._frozen = self._t.freeze()
        return self._f.sweep(self._frozen, self._sizes.budget, self._stop)

    def _start(self) -> None:
        self._merging = self._worker.submit(self._sweep().run)
        self._merging.add_done_callback(self._notify)

    def _notify(self, _: Future[Swept]) -> None:
        self._tell_ready()

    def _tell_ready(self) -> None:
        if self._on_ready is not None and not self._stop.is_set():
            self._on_ready()

    def _advance(self) -> None:
        """Adopt the result of a finished thread, or raise its error."""
        if self._merging is None and not self._t.spilled:
            return
        with self._fuse:
            self._t.raise_failure()
            if self._merging is not None and self._worker.done(self._merging):
                swept = self._merging.result()
                self._merging = None
                self._adopt(swept)
                now = f"{count(len(self._f), 'key')} in {count(self._f.files, 'run')}"
                merged = count(swept.count, "record")
                logger.info(
                    "seen: merged %s in %.2f s: %d new, now %s",
                    merged,
                    swept.seconds,
                    swept.new,
                    now,
                )

    def _adopt(self, swept: Swept) -> None:
        """Take over the result of a merge: F, the size of T, the verdicts, and the counts."""
        self._frozen = None
        self._f.adopt(swept)
        self._grow()
        self._verdicts.add(swept.bits, swept.count, swept.new)
        state = self._state
        state.new += swept.new
        state.merges += 1
        state.merge_seconds += swept.seconds

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return self._verdicts.save()

    def save(self) -> None:
        """Save as if a merge under way had not begun."""
        # The frontier's queues are in the same COMMIT. A URL that is recorded as seen before it is
        # queued would be lost for ever.
        with self._fuse:
            for _ in self._verdicts.save():
                pass
            self._u.save()
            self._f.save()
            self._state.save(self._db, self._u.begin, self._verdicts.end, self._u.end)

    def close(self) -> None:
        """Stop the merge under way and close all files. No part of the merge is kept."""
        self._stop.set()
        self._worker.close()
        self._t.close()
        if self._frozen is not None:
            self._frozen.close()
        if self._merging is not None:
            # The merge was told to stop, or has failed: no part of it is kept.
            with contextlib.suppress(Exception):
                self._worker.result(self._merging).change.close()
            self._merging = None
        self._f.close()
