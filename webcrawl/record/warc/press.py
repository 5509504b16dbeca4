"""Compresses captures in a thread, beside the event loop (docs/decisions/record-archive.md).

The thread does nothing but compute: what it has computed, the event loop's thread fetches and writes, in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future

from webcrawl.record.warc.capture import Capture
from webcrawl.store.worker import Worker

BATCH = 1 << 19  # bytes to compress per job: to hand one over costs 30 us, which a dozen pages share
MOST = 1 << 23  # bytes that may wait for the thread
EACH = 1 << 12  # bytes that a capture counts for, beside its blocks


class Press:
    """A queue of captures. Memory is bounded: what is too much is waited for."""

    def __init__(self, *, batch: int = BATCH, most: int = MOST) -> None:
        """RuntimeError if the thread cannot be started."""
        self._batch, self._most = batch, most
        self._open: list[Capture] = []
        self._open_size = 0
        self._under_way: deque[tuple[list[Capture], Future[None]]] = deque()
        self.size = 0  # at least what all that was not fetched will take, compressed
        self._worker = Worker()

    def add(self, capture: Capture) -> bool:
        """Takes a capture; says whether that was the time to fetch those that are ready."""
        size = EACH
        for record in capture.records:
            size += len(record.block) + len(record.rest)
        capture.weight = size
        self._open.append(capture)
        self._open_size += size
        self.size += size
        if self._open_size < self._batch:
            return False
        self.push()
        return True

    def push(self) -> None:
        """Has the thread begin with what was added so far."""
        if self._open:
            self._under_way.append((self._open, self._worker.submit(_pack, self._open)))
            self._open, self._open_size = [], 0

    def ready(self) -> Iterator[Capture]:
        """Those that are compressed, and others as long as too much waits."""
        while self._under_way:
            enough = self.size <= self._most or len(self._under_way) == 1
            if enough and not self._worker.done(self._under_way[0][1]):
                return
            yield from self._next()

    def rest(self) -> Iterator[Capture]:
        """All of them; waits for the thread."""
        self.push()
        while self._under_way:
            yield from self._next()

    def until_done(self) -> Iterator[None]:
        """Ends when all that was added before is compressed; does not wait."""
        self.push()
        if self._under_way:
            last = self._under_way[-1][1]
            while not self._worker.done(last):
                yield

    def _next(self) -> Iterator[Capture]:
        """The first batch. If it could not be compressed, this raises, and does so again: nothing follows a gap."""
        captures, future = self._under_way[0]
        self._worker.result(future)
        self._under_way.popleft()
        for capture in captures:
            self.size -= capture.weight
            yield capture

    def close(self) -> None:
        """Ends the thread; what is not fetched is lost. A second call does nothing."""
        self._worker.close()


def _pack(captures: list[Capture]) -> None:
    for capture in captures:
        capture.pack()
