"""The keys of Mercator's eliminator (section 3.2), and their merge.

T holds the keys that wait for a merge, and F all keys that were ever found new.

T has the fingerprints and their ordinals in U. An ordinal is a record's number since T was last
emptied. It equals the key's position in T, so only keys are stored. A thread sorts full chunks and
spills them to scratch files. So T can grow with F, which keeps the cost per URL flat, in constant
memory.

Of F the latest keys are in memory, the others in sorted runs on disk. The merge of F with T' runs
in a thread, one range of keys after the other. It modifies no shared state: the owner adopts its
result or discards it.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Protocol

import numpy as np

from webcrawl.frontier.seen.sorted_keys import (
    HIGHEST,
    NO_KEYS,
    Bits,
    MergeResult,
    Names,
    RunSet,
    contained_in_runs,
    distinct,
    even,
    firsts,
    mark,
    merged,
    order,
)
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk, remove_unnamed
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Keys, Mask, Run, RunWriter, between, contained
from webcrawl.store.worker import Worker

SPILLED_AT_ONCE = 1 << 16  # keys per write of a spill: 1 MiB of rows


class Rows(Protocol):
    """Sorted columns (key, ordinal), in memory or in a scratch file."""

    def between(self, low: int, high: int) -> Keys:
        """Return the rows with low <= key <= high."""

    def within(self, low: int, high: int) -> int:
        """Return a number of these rows that there are at least."""


class SortedChunk:
    """A chunk of T in the order of its keys.

    It is sorted at the first access, which happens in a thread.
    """

    def __init__(self, keys: Keys, first: int) -> None:
        """`first`: the ordinal of the chunk's first key."""
        self._keys = keys
        self._first = first
        self._order: Keys | None = None  # the positions of the keys, by key

    @property
    def order(self) -> Keys:
        if self._order is None:
            self._order = order(self._keys)
        return self._order

    def rows(self, first: int, last: int) -> Keys:
        """Return the rows (key, ordinal) from `first` to `last` (exclusive) in sorted order."""
        positions = self.order[first:last]
        return np.stack((self._keys[positions], positions + np.uint64(self._first)))

    def between(self, low: int, high: int) -> Keys:
        return self.rows(*self._bounds(low, high))

    def within(self, low: int, high: int) -> int:
        first, last = self._bounds(low, high)
        return last - first

    def _bounds(self, low: int, high: int) -> tuple[int, int]:
        """Return where the keys from `low` to `high` begin and end in sorted order."""
        keys = self._keys
        places = self.order
        if low == 0 and high == HIGHEST:
            return 0, len(places)
        first = bisect_left(places, low, key=lambda at: int(keys[at]))
        return first, bisect_right(places, high, first, key=lambda at: int(keys[at]))


class Frozen:
    """T', the input of a merge, in chunks by ordinal; spills may still be running."""

    def __init__(
        self, disk: Disk, worker: Worker, spills: list[Future[Run]], chunk: SortedChunk, count: int
    ) -> None:
        """`worker` does the spills."""
        self.count = count
        self._disk = disk
        self._worker = worker
        self._spills = spills
        self._chunk = chunk

    def parts(self) -> list[Rows]:
        """Wait for the spills, and return all chunks."""
        return [*(self._worker.result(spill) for spill in self._spills), self._chunk]

    def remove(self) -> None:
        """Remove the scratch files."""
        while self._spills:
            run = self._spills.pop().result()
            run.close()
            remove_unnamed(self._disk, run.path)

    def close(self) -> None:
        _close(self._spills)


class Buffer:
    """T while it fills; `size` is the number of keys of the next chunk."""

    def __init__(self, names: Names, disk: Disk) -> None:
        self.count = 0  # keys, in memory and in scratch files
        self.size = 1
        self._names = names
        self._disk = disk
        self._chunk: Keys = NO_KEYS
        self._filled = 0  # keys of the chunk; the rest of it is not used yet
        self._spills: list[Future[Run]] = []  # of full chunks; the last one may still run
        self._worker = Worker()
        # No checkpoint names a spill: after a kill T is made anew from the records that wait.
        names.clean(())

    def __repr__(self) -> str:
        return f"<Buffer count={self.count} spilled={len(self._spills)}>"

    @property
    def spilled(self) -> bool:
        return bool(self._spills)

    def append(self, keys: Keys) -> None:
        """Add keys. Never waits, unless they come faster than one thread can sort them."""
        while len(keys):
            if self._filled == len(self._chunk):
                self._next_chunk()
            part = keys[: len(self._chunk) - self._filled]
            self._chunk[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            self.count += len(part)
            keys = keys[len(part) :]

    def _next_chunk(self) -> None:
        """Begin an empty chunk; a filled one goes to the thread that sorts and writes it."""
        if self._filled:
            if self._spills:
                # at most two chunks in memory: one filling, one being sorted
                self._worker.result(self._spills[-1])
            chunk = SortedChunk(self._chunk, self.count - self._filled)
            self._spills.append(
                self._worker.submit(_spill, chunk, self._filled, self._names.new, self._disk)
            )
        self._chunk = np.empty(self.size, np.uint64)
        self._filled = 0

    def raise_failure(self) -> None:
        """Raise the error of a spill that has failed."""
        if self._spills and self._worker.done(self._spills[-1]):
            self._spills[-1].result()

    def freeze(self) -> Frozen:
        """Set T aside as T' and start an empty T: the paper's "very short atomic operation"."""
        keys = self._chunk[: self._filled]
        # The few keys of an early merge are copied, and the large chunk stays for T.
        if self._filled * 4 < len(self._chunk):
            keys = keys.copy()
        else:
            self._chunk = NO_KEYS
        chunk = SortedChunk(keys, self.count - self._filled)
        frozen = Frozen(self._disk, self._worker, self._spills, chunk, self.count)
        self.count = 0
        self._filled = 0
        self._spills = []
        return frozen

    def close(self) -> None:
        self._worker.close()
        _close(self._spills)


def _close(spills: list[Future[Run]]) -> None:
    """Close the scratch files of spills that have succeeded, and forget all spills."""
    while spills:
        spill = spills.pop()
        # Without an end, its thread has died.
        has_ended = spill.done() and not spill.cancelled()
        if has_ended and spill.exception() is None:
            spill.result().close()


def _spill(chunk: SortedChunk, count: int, new_path: Callable[[], Path], disk: Disk) -> Run:
    """Write a chunk's first `count` keys, in their order, to a run and return it. Runs in a thread.

    After an error the file is removed.
    """
    writer = RunWriter(disk, new_path(), 2)
    try:
        # A key that two writes have is dropped by `firsts`, in the merge.
        for at in range(0, count, SPILLED_AT_ONCE):
            writer.append(*distinct(chunk.rows(at, at + SPILLED_AT_ONCE)))
    except BaseException:
        writer.abandon()
        raise
    writer.finish()
    return Run(writer.path)


@dataclass(slots=True)
class Swept:
    """The result of merging one T'."""

    count: int  # records that were decided
    bits: Bits  # by ordinal: set if the record is new
    new: int  # of these records
    fresh: Keys  # the part of F that is in memory from now on
    change: MergeResult  # to the files of F
    seconds: float


class Cancelled(Exception):  # noqa: N818 - not an error: the store is being closed
    """The merge was asked to stop."""


@dataclass(slots=True)
class Sweep:
    """One merge; `run` may be called in a thread as long as F does not change."""

    frozen: Frozen
    fresh: Keys  # the part of F in memory; goes into the result
    replaced: list[Run]  # runs that go into the result too
    kept: list[Run]  # runs that are only searched
    create: Callable[[], RunWriter] | None  # None: the result stays in memory
    budget: int  # rows that are in memory at once
    stop: Event  # set if the crawl is closed

    def run(self) -> Swept:
        """Merge T' with F; return the result, a file or in memory. Raise Cancelled if stopped."""
        started = time.monotonic()
        frozen = self.frozen
        bits: Bits = np.zeros((frozen.count + 7) >> 3, np.uint8)  # one for each record
        parts = frozen.parts()
        # A small result stays in memory: otherwise each of a small crawl's many early merges would
        # write a file.
        writer = self.create() if self.create is not None else None
        pieces: list[Keys] = []
        put = pieces.append if writer is None else writer.append
        rows = frozen.count + len(self.fresh) + sum(run.count for run in self.replaced)
        new = 0
        try:
            for low, high in even(rows, self.budget, partial(self._within, parts)):
                keys, ordinals = self._merge_range(parts, low, high, put)
                mark(bits, ordinals)
                new += len(keys)
        except BaseException:
            if writer is not None:
                writer.abandon()
            raise
        if writer is not None:
            writer.finish()
        fresh = merged(pieces)
        change = MergeResult(Run(writer.path) if writer is not None else None, self.replaced)
        frozen.remove()
        return Swept(frozen.count, bits, new, fresh, change, time.monotonic() - started)

    def _within(self, parts: Sequence[Rows], low: int, high: int) -> int:
        """Return the least number of rows that a range has."""
        fresh = len(between(self.fresh[None], low, high)[0])
        return fresh + sum(rows.within(low, high) for rows in (*parts, *self.replaced))

    def _merge_range(
        self, parts: Sequence[Rows], low: int, high: int, put: Callable[[Keys], None]
    ) -> Keys:
        """Put one range of the result where it goes.

        Return the keys that are not in F, as rows (key, ordinal).
        """
        # A crawl that closes does not wait for the rest of a merge, which may take minutes.
        if self.stop.is_set():
            raise Cancelled
        rows = firsts([part.between(low, high) for part in parts])
        # the keys of F that go into the result with the new ones
        rewritten = [
            between(self.fresh[None], low, high)[0],
            *(run.between(low, high)[0] for run in self.replaced),
        ]
        new = rows[:, self._unknown(rows[0], rewritten)]
        put(merged([*rewritten, new[0]]))
        return new

    def _unknown(self, keys: Keys, rewritten: Sequence[Keys]) -> Mask:
        """Return which of these keys are not in F: neither in `kept` runs nor in `rewritten`."""
        unknown = ~contained_in_runs(self.kept, keys)
        for known in rewritten:
            left = np.flatnonzero(unknown)
            unknown[left] = ~contained(keys[left], known)
        return unknown


NAME = "seen.fresh"


class KnownKeys:
    """F as of the last adopted merge; arrays and files are never modified, only replaced."""

    def __init__(self, db: CrawlDB, *, fresh_limit: int, growth: float) -> None:
        self._db = db
        self._limit = fresh_limit
        # The keys that no run has, and these as of the last checkpoint: an array is only replaced,
        # so another one has other keys.
        self._fresh = self._saved = _stored(db)
        self._runs = RunSet(db, "url", 1, growth)

    def __repr__(self) -> str:
        return f"<Known fresh={len(self._fresh)} runs={self._runs!r}>"

    def __len__(self) -> int:
        return len(self._fresh) + len(self._runs)

    @property
    def files(self) -> int:
        return len(self._runs.runs)

    def next(self, low: int, high: int, most: int) -> Keys:
        """Return the first keys with low <= key <= high, at most so many."""
        pieces = [between(self._fresh[None], low, high)[0][:most]]
        pieces += [run.first(low, high, most)[0] for run in self._runs.runs]
        return merged(pieces)[:most]

    def holds(self, count: int) -> bool:
        """Return whether a merge of `count` records neither reads nor writes a file."""
        return not self.files and len(self._fresh) + count <= self._limit

    def sweep(self, frozen: Frozen, budget: int, stop: Event) -> Sweep:
        """Return the merge of T' with F, ready to run."""
        in_memory = len(self._fresh) + frozen.count <= self._limit
        replaced = [] if in_memory else self._runs.plan(len(self._fresh) + frozen.count)
        kept = [run for run in self._runs.runs if run not in replaced]
        create = None if in_memory else self._runs.create
        return Sweep(frozen, self._fresh, replaced, kept, create, budget, stop)

    def adopt(self, swept: Swept) -> None:
        """Replace F with the result of the merge."""
        self._fresh = swept.fresh
        self._runs.adopt(swept.change)

    def save(self) -> None:
        """Write the keys in memory if they have changed: at most a megabyte."""
        self._runs.save()
        if self._fresh is not self._saved:
            self._db.set(NAME, self._fresh.astype("<u8").tobytes())
            self._saved = self._fresh

    def close(self) -> None:
        self._runs.close()


def _stored(db: CrawlDB) -> Keys:
    """Return the keys of F in memory as of the last checkpoint. Raise DamagedFile if out of order."""
    value = db.get(NAME) or b""
    # A part of a key at the end is left out here, and reported below.
    keys = np.frombuffer(value[: len(value) & ~7], "<u8").astype(np.uint64) if value else NO_KEYS
    if len(value) % 8 or bool((keys[1:] <= keys[:-1]).any()):
        raise DamagedFile(db.path, 0, f"table meta, {NAME}: the keys are not in ascending order")
    return keys
