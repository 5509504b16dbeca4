"""T: the fingerprints waiting for a merge, and their ordinals in U (Mercator, section 3.2).

An ordinal is a record's number since T was last emptied. It equals the key's position in T, so only keys are stored.
A thread sorts full chunks and spills them to scratch files. So T can grow with F, which keeps the cost per URL flat,
in constant memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

import numpy as np

from webcrawl.frontier.seen.files import Names
from webcrawl.frontier.seen.keys import HIGHEST, NO_KEYS, distinct, order
from webcrawl.store.disk import Disk, remove_unnamed
from webcrawl.store.runs import Keys, Run, RunWriter
from webcrawl.store.worker import Worker

PIECE = 1 << 16  # keys per write of a spill: 1 MiB of rows


class Rows(Protocol):
    """Sorted columns (key, ordinal), in memory or in a scratch file."""

    def between(self, low: int, high: int) -> Keys:
        """The rows with low <= key <= high."""

    def within(self, low: int, high: int) -> int:
        """The least number of these."""


class SortedChunk:
    """A chunk of T in the order of its keys. It is sorted at the first access, which happens in a thread."""

    def __init__(self, keys: Keys, first: int) -> None:
        self._keys, self._first = keys, first
        self._order: Keys | None = None

    @property
    def order(self) -> Keys:
        if self._order is None:
            self._order = order(self._keys)
        return self._order

    def rows(self, first: int, last: int) -> Keys:
        """Rows by their position in sorted order."""
        where = self.order[first:last]
        return np.stack((self._keys[where], where + np.uint64(self._first)))

    def between(self, low: int, high: int) -> Keys:
        return self.rows(*self._bounds(low, high))

    def within(self, low: int, high: int) -> int:
        first, last = self._bounds(low, high)
        return last - first

    def _bounds(self, low: int, high: int) -> tuple[int, int]:
        keys, places = self._keys, self.order
        if low == 0 and high == HIGHEST:
            return 0, len(places)
        first = bisect_left(places, low, key=lambda at: int(keys[at]))
        return first, bisect_right(places, high, first, key=lambda at: int(keys[at]))


class Frozen:
    """T', the input of a merge, in chunks by ordinal; spills may still be running."""

    def __init__(self, disk: Disk, worker: Worker, spills: list[Future[Run]], chunk: SortedChunk, count: int) -> None:
        """`worker` does the spills."""
        self.count = count
        self._disk, self._worker, self._spills, self._chunk = disk, worker, spills, chunk

    def parts(self) -> list[Rows]:
        """All chunks; waits for the spills."""
        return [*(self._worker.result(spill) for spill in self._spills), self._chunk]

    def remove(self) -> None:
        """Removes the scratch files."""
        while self._spills:
            run = self._spills.pop().result()
            run.close()
            remove_unnamed(self._disk, run.path)

    def close(self) -> None:
        _close(self._spills)


class Buffer:
    """T while it fills; `size` is the number of keys of the next chunk."""

    def __init__(self, names: Names, disk: Disk, size: int = 1) -> None:
        self.count = 0
        self.size = size
        self._names, self._disk = names, disk
        self._chunk: Keys = NO_KEYS
        self._filled = 0
        self._spills: list[Future[Run]] = []
        self._worker = Worker()
        names.clean(())

    def __repr__(self) -> str:
        return f"<Buffer count={self.count} spilled={len(self._spills)}>"

    @property
    def spilled(self) -> bool:
        return bool(self._spills)

    def append(self, keys: Keys) -> None:
        """Adds keys. Never waits, unless they come faster than one thread can sort them."""
        while len(keys):
            if self._filled == len(self._chunk):
                self._next_chunk()
            part = keys[: len(self._chunk) - self._filled]
            self._chunk[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            self.count += len(part)
            keys = keys[len(part) :]

    def _next_chunk(self) -> None:
        if self._filled:
            if self._spills:
                self._worker.result(self._spills[-1])  # at most two chunks in memory: one filling, one being sorted
            chunk = SortedChunk(self._chunk, self.count - self._filled)
            self._spills.append(self._worker.submit(_spill, chunk, self._filled, self._names.new, self._disk))
        self._chunk, self._filled = np.empty(self.size, np.uint64), 0

    def raise_failure(self) -> None:
        """Raises the error of a spill that has failed."""
        if self._spills and self._worker.done(self._spills[-1]):
            self._spills[-1].result()

    def freeze(self) -> Frozen:
        """Sets T aside as T' and starts an empty T: the paper's "very short atomic operation"."""
        keys = self._chunk[: self._filled]
        if self._filled * 4 < len(self._chunk):
            keys = keys.copy()
        else:
            self._chunk = NO_KEYS
        chunk = SortedChunk(keys, self.count - self._filled)
        frozen = Frozen(self._disk, self._worker, self._spills, chunk, self.count)
        self.count, self._filled, self._spills = 0, 0, []
        return frozen

    def close(self) -> None:
        self._worker.close()
        _close(self._spills)


def _close(spills: list[Future[Run]]) -> None:
    while spills:
        spill = spills.pop()
        if spill.done() and not spill.cancelled() and spill.exception() is None:  # else its thread has died
            spill.result().close()


def _spill(chunk: SortedChunk, count: int, new_path: Callable[[], Path], disk: Disk) -> Run:
    writer = RunWriter(disk, new_path(), 2)
    try:
        for at in range(0, count, PIECE):
            writer.append(*distinct(chunk.rows(at, at + PIECE)))
    except BaseException:
        writer.abandon()
        raise
    writer.finish()
    return Run(writer.path)
