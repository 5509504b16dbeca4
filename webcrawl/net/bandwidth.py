"""BANDWIDTH_MAX: a token bucket over the bytes of answers, which holds back requests first and reading second.

A request that is handed out takes as many bytes from the bucket as answers had lately; what it gets in the end is
settled when it is finished. While the bucket is empty no request is handed out, so small answers never wait. An answer
that is longer than FREE is not read on while the bucket is empty (docs/decisions/net-connections.md).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

BURST = 0.25  # seconds' worth of bytes that the bucket saves for later
FREE = 65_536  # bytes of an answer that are read whatever the bucket has: its request has waited for them
TICK = 0.01  # seconds between two looks while answers wait to be read on
FIRST_GUESS = 20_000.0  # bytes of an answer
MEMORY = 0.98  # weight of earlier answers in the mean, at each later one
WINDOW = 8  # a connection's buffer in the kernel takes this part of a second's bytes,
NARROW, WIDE = 32_768, 4 << 20  # but not less than NARROW; more than WIDE is the system's own affair


class Held(Protocol):
    """An answer that can be told not to be read for a while."""

    def hold(self) -> None: ...

    def go_on(self) -> None: ...


class Bandwidth:
    """`rate` in bytes per second; 0 is no limit. `held`: nothing may be handed out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.rate = 0
        self.held = False
        self.on_end: Callable[[], None] = _nothing  # called when something may be handed out again
        self._level = self._at = 0.0  # bytes in the bucket; below 0 they are owed
        self._reserved = 0.0  # bytes taken for answers that have not come yet
        self._open = 0  # requests handed out
        self._sum, self._ends = FIRST_GUESS, 1.0  # bytes of earlier answers, and their number, both fading
        self._waiting: deque[Held] = deque()
        self._portion = 1
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when it fires, by the clock

    def limit(self, rate: int) -> None:
        """Set the rate, in bytes per second; what is on its way counts only if there was a limit before."""
        self._refill()
        if not rate or not self.rate:
            self._level, self._reserved, self._open = rate * BURST, 0.0, 0
        self.rate = rate
        self._stop()
        if rate:
            self._judge()
        else:
            while self._waiting:
                self._waiting.popleft().go_on()
            if self.held:
                self._end()

    @property
    def window(self) -> int:
        """Bytes that may come on a connection before they are read; 0: as many as the system likes."""
        size = max(self.rate // WINDOW, NARROW)
        return size if size < WIDE else 0

    # -- what happens

    def take(self) -> None:
        """A request is handed out."""
        if not self.rate:
            return
        self._refill()
        mean = self._sum / self._ends
        self._open += 1
        self._reserved += mean
        self._level -= mean
        self._judge()

    def received(self, size: int) -> bool:
        """Bytes of an answer have come; whether a long one is to wait."""
        if not self.rate:
            return False
        free = min(size, self._reserved)
        self._reserved -= free
        if size > free:
            self._refill()
            self._level -= size - free
            self._judge()
        return self._level < 0

    def wait(self, answer: Held) -> None:
        """Reads on when there is room."""
        answer.hold()
        self._waiting.append(answer)
        self._portion = 1
        self._judge()

    def finished(self, size: int | None) -> None:
        """A request that was handed out is finished: what it took too much is given back.

        `size`: bytes of its answer, if others may be expected to be like it.
        """
        if size is not None:
            self._sum, self._ends = MEMORY * self._sum + size, MEMORY * self._ends + 1
        if not self._open or not self.rate:  # it was handed out before there was a limit
            return
        self._open -= 1
        excess = self._reserved - self._open * self._sum / self._ends
        if excess > 0:
            self._refill()
            self._reserved -= excess
            self._level += excess
            self._judge()

    # -- the bucket

    def _refill(self) -> None:
        now = self._clock()
        room = max(self.rate * BURST - self._level, 0.0)  # what was given back may be more than it saves by itself
        self._level += min((now - self._at) * self.rate, room)
        self._at = now

    def _judge(self) -> None:
        if self._level > 0 and not self._waiting:
            if self.held:
                self._end()
            return
        self.held = True
        due = self._at + max(-self._level / self.rate, TICK)
        if self._timer is not None and due < self._due:  # something was given back
            self._stop()
        if self._timer is None:
            self._due = due
            self._timer = asyncio.get_running_loop().call_later(due - self._at, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _look(self) -> None:
        """Answers that wait are read on one by one, then two by two: each may bring much at once."""
        self._timer = None
        self._refill()
        if self._level > 0:
            for _ in range(min(self._portion, len(self._waiting))):
                self._waiting.popleft().go_on()
            self._portion *= 2
        self._judge()

    def _end(self) -> None:
        self.held = False
        self.on_end()


def _nothing() -> None:
    """Until somebody wants to know."""
