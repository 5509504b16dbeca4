"""Keeps a drone that is cut off from fetching: another drone may have its hosts by now."""

from __future__ import annotations

import time
from collections.abc import Callable


def _since_boot() -> float:
    """Return seconds that go on while the machine sleeps, as a lease in the server does."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # Linux has the first
    return time.clock_gettime(clock)


class Fence:
    """Says whether a drone may fetch: only if the server answered a recent sign of life.

    A drone's lease begins when its sign of life reaches the server, so a fence of the same length
    is closed before the drone can be given up. The clock is read at each question: a process that
    was stopped, and goes on, has not noticed yet that time has passed.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = _since_boot) -> None:
        self.seconds = seconds
        self.now = clock
        self._closes_at: float | None = None  # None: the server has not answered in this run

    def note_answer(self, sent_at: float) -> bool:
        """Open the fence, for `seconds` from when the answered sign of life was made.

        Return whether that has opened it: it was closed before, and is not closed again by now.
        """
        was_closed = self.is_closed()
        self._closes_at = sent_at + self.seconds
        return was_closed and not self.is_closed()

    def is_closed(self) -> bool:
        """Return whether the drone must not fetch now."""
        return self._closes_at is None or self.now() >= self._closes_at
