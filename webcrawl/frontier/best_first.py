"""Choosing among what waits: queues are read at their heads, and what is not chosen goes to their ends.

A URL enters a queue once, and what is known of it changes while it waits. Nothing is moved when that changes; it is
looked at again when it comes to the head (docs/decisions/frontier-order.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

AT_ONCE = 64  # records looked at together
ONE_IN = 8  # of them is chosen: what it costs is so many looks per URL

T = TypeVar("T")


class Queue(Protocol[T]):
    """A queue that can be sifted: a `Fifo`, or anything like it."""

    count: int

    def pop(self) -> T | None: ...

    def push(self, record: T, /) -> None: ...


class Sift(Generic[T]):
    """Prefers what is worth more."""

    def __init__(self, worth: Callable[[T], float]) -> None:
        self._worth = worth

    def choose(self, queue: Queue[T], chosen: Queue[T]) -> None:
        """Moves the best of the next records to another queue, in the order of their worth; of equals the older one."""
        some = [record for _ in range(min(AT_ONCE, queue.count)) if (record := queue.pop()) is not None]
        worth = [self._worth(record) for record in some]
        order = sorted(range(len(some)), key=worth.__getitem__, reverse=True)
        best = max(len(some) // ONE_IN, 1)
        for at in order[:best]:
            chosen.push(some[at])
        for at in sorted(order[best:]):
            queue.push(some[at])
