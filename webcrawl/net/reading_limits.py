"""What holds back the reading of answers: BANDWIDTH_MAX, and room in memory for large bodies.

`Bandwidth` is a token bucket over the bytes of answers, which holds back requests first and reading
second. A request that is handed out takes as many bytes from the bucket as answers had lately; what
it gets in the end is settled when it is finished. While the bucket is empty no request is handed
out, so small answers never wait. An answer that is longer than UNMETERED_BYTES is not read on while the bucket
is empty. Reading alone is no limit: at 10 kB/s a hundred unread answers time out, and a hundred
requests that are sent before the first byte arrives may bring 200 MB.

`BodyRoom` holds what all bodies together may have beyond their first 2 MiB. A sitemap that finds no
room left is truncated, as any other body is at DOWNLOAD_TRUNCATE. Other bodies wait: their servers
send no more while we do not read. So memory has a bound, however many large bodies are under way.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol
from weakref import WeakKeyDictionary

BURST = 0.25  # seconds' worth of bytes that the bucket saves for later
# bytes of an answer that are read whatever the bucket has: its request has waited for them
UNMETERED_BYTES = 65_536
LOOK_INTERVAL = 0.01  # seconds between two looks while answers wait to be read on
FIRST_GUESS = 20_000.0  # bytes of an answer
MEMORY = 0.98  # weight of earlier answers in the mean, at each later one
WINDOW = 8  # a connection's buffer in the kernel takes this part of a second's bytes,
# but not less than NARROW; more than WIDE is the system's own affair
NARROW, WIDE = 32_768, 4 << 20


class PausableAnswer(Protocol):
    """An answer that can be told not to be read for a while."""

    def pause_reading(self) -> None: ...

    def go_on(self) -> None: ...


class Bandwidth:
    """`rate` in bytes per second; 0 is no limit. `held`: nothing may be handed out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without a limit: `rate`, bytes per second, is 0 until one is set."""
        self._clock = clock
        self.rate = 0
        self.held = False
        # called when something may be handed out again
        self.on_end: Callable[[], None] = lambda: None
        self._level = 0.0  # bytes in the bucket; below 0 they are owed
        self._at = 0.0
        self._reserved = 0.0  # bytes taken for answers that have not come yet
        self._open = 0  # requests handed out
        # bytes of earlier answers, and their number, both fading
        self._sum = FIRST_GUESS
        self._ends = 1.0
        self._waiting: deque[PausableAnswer] = deque()
        self._portion = 1
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when it fires, by the clock

    def limit(self, rate: int) -> None:
        """Set the rate, in bytes per second.

        What is on its way counts only if there was a limit before.
        """
        self._refill()
        if not rate or not self.rate:
            self._level = rate * BURST
            self._reserved = 0.0
            self._open = 0
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
        """Return the bytes that may come on a connection before they are read; 0: as many as the
        system likes.
        """
        # The system would take up to 6 MB for each connection that is not read.
        size = max(self.rate // WINDOW, NARROW)
        return size if size < WIDE else 0

    # -- what happens

    def reserve_answer(self) -> None:
        """Take note of a request that is handed out."""
        if not self.rate:
            return
        # Where requests paid only for bytes that had come, twenty were sent within a second.
        self._refill()
        mean = self._sum / self._ends
        self._open += 1
        self._reserved += mean
        self._level -= mean
        self._judge()

    def received(self, size: int) -> bool:
        """Count bytes of an answer that have come. Return whether a long one is to wait."""
        if not self.rate:
            return False
        free = min(size, self._reserved)
        self._reserved -= free
        if size > free:
            self._refill()
            self._level -= size - free
            self._judge()
        return self._level < 0

    def wait(self, answer: PausableAnswer) -> None:
        """Read on when there is room."""
        answer.pause_reading()
        self._waiting.append(answer)
        self._portion = 1
        self._judge()

    def finished(self, size: int | None) -> None:
        """Settle a request that is finished: what it took too much is given back.

        `size`: bytes of its answer, if others may be expected to be like it.
        """
        if size is not None:
            self._sum = MEMORY * self._sum + size
            self._ends = MEMORY * self._ends + 1
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
        # what was given back may be more than it saves by itself
        room = max(self.rate * BURST - self._level, 0.0)
        self._level += min((now - self._at) * self.rate, room)
        self._at = now

    def _judge(self) -> None:
        """Hold requests, and set a timer, while bytes are owed or answers wait; else end it."""
        if self._level > 0 and not self._waiting:
            if self.held:
                self._end()
            return
        self.held = True
        due = self._at + max(-self._level / self.rate, LOOK_INTERVAL)
        # Something was given back. A timer that ignored this lost 24 % of the rate.
        if self._timer is not None and due < self._due:
            self._stop()
        if self._timer is None:
            self._due = due
            self._timer = asyncio.get_running_loop().call_later(due - self._at, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _look(self) -> None:
        """Read on the answers that wait, one by one, then two by two: each may bring much."""
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


BYTES_WITHOUT_CLAIM = 2 << 20  # bytes of every body that need no room
LONGEST_SITEMAP = 50 << 20  # bytes of a sitemap: sitemaps.org's limit
# Bytes for all bodies. 50 hosts with a file of 60 MB each, and 100 downloads at once, take 611 MB
# of memory at most.
BODY_ROOM = 64 << 20
STEP = 1 << 20  # bytes of room that a body takes at a time
# seconds in which no room is taken or given back, until the eldest that waits goes on all the same:
# a page that awaits a download of its own may hold what that needs
PATIENCE = 60.0


# Bodies in temporary files would save nothing: all readers want bytes, so a body would be in memory
# again.
class BodyRoom:
    """The memory that is left for large bodies, and the claims that use it or wait for it."""

    __slots__ = (
        "_complete",
        "_free",
        "_is_stuck",
        "_loading",
        "_loop",
        "_moved",
        "_returned",
        "_timer",
        "_waiting",
    )

    def __init__(self, size: int = BODY_ROOM) -> None:
        """`size`: bytes that all large bodies may have together."""
        self._free = size  # below 0 if the eldest download has more
        self._complete = 0  # bytes of bodies that are loaded, and not given back
        # by any thread: the last to have a body may be one
        self._returned: deque[tuple[int, bool]] = deque()
        # In the order in which they began to need room
        self._loading: WeakKeyDictionary[Claim, None] = WeakKeyDictionary()
        self._waiting: dict[Claim, Callable[[], None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # once there is somebody who waits
        self._timer: asyncio.TimerHandle | None = None
        self._moved = False  # whether any room was taken or given back since the timer was set
        self._is_stuck = False

    @property
    def free(self) -> int:
        while self._returned:
            taken, was_loaded = self._returned.popleft()
            self._complete -= taken if was_loaded else 0
            self._free += taken
            self._move()
        return self._free

    def reserve_bytes(self, claim: Claim, wanted: int) -> int:
        """Give a claim up to `wanted` bytes; return how many it got."""
        self._loading.setdefault(claim)
        got = max(min(wanted, self.free), 0)
        if claim.may_wait and self._may_exceed(claim):
            got = wanted
        if got:
            self._free -= got
            self._moved = True
        return got

    def wait(self, claim: Claim, resume: Callable[[], None]) -> None:
        """Call `resume` when there may be room for this claim."""
        self._loop = asyncio.get_running_loop()
        self._waiting[claim] = resume
        if self._timer is None:
            self._timer = self._loop.call_later(PATIENCE, self._check)

    def loaded(self, claim: Claim, taken: int) -> None:
        """Note that the download has ended, whole or not; its room is given back later."""
        if claim in self._loading:
            del self._loading[claim]
            self._complete += taken
            self._waiting.pop(claim, None)
            self._move()
            self._look()

    def give_back(self, taken: int, *, was_loaded: bool) -> None:
        """Take back the room of a body that is garbage. Any thread may call this."""
        self._returned.append((taken, was_loaded))
        if self._waiting and self._loop is not None:
            # The loop is closed: no claim waits any more.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._look)

    def _may_exceed(self, claim: Claim) -> bool:
        """Return whether a claim may exceed the room.

        The eldest may, if no other claim will give any back.
        """
        # Without an eldest that may, downloads would wait for each other.
        is_eldest = claim is next(iter(self._loading), None)
        no_room_returns = not self._complete or self._is_stuck
        return is_eldest and no_room_returns

    def _move(self) -> None:
        self._moved = True
        self._is_stuck = False

    def _check(self) -> None:
        """Look for claims that are stuck: nothing was taken or given back for long."""
        self._timer = None
        if self._loop is not None and self._waiting:
            self._is_stuck = not self._moved
            self._moved = False
            self._timer = self._loop.call_later(PATIENCE, self._check)
            self._look()

    def _look(self) -> None:
        """Resume those that may go on, the eldest first.

        They ask again, and wait again if they get nothing.
        """
        for claim in [one for one in self._loading if one in self._waiting]:
            if self.free <= 0 and not self._may_exceed(claim):
                return
            # A call before this one may have changed who waits.
            if claim in self._waiting:
                self._waiting.pop(claim)()


class Claim:
    """The share of the room that one body has, until its page is finished or the body is garbage."""

    __slots__ = ("__weakref__", "_is_loaded", "_room", "_spare", "_taken", "held", "may_wait")

    def __init__(self, room: BodyRoom, spare: int, *, may_wait: bool = False) -> None:
        """`spare`: bytes that it may have at most.

        `may_wait`: it waits for them, if there are none.
        """
        self._room = room
        self._spare = spare
        self._taken = 0
        self.may_wait = may_wait
        self._is_loaded = False
        self.held = 0.0  # seconds for which `turn` has waited

    def more(self) -> int:
        """Return the next bytes that it may have, 0 if there are none."""
        wanted = min(STEP, self._spare - self._taken)
        if wanted <= 0 or self._is_loaded:
            return 0
        got = self._room.reserve_bytes(self, wanted)
        self._taken += got
        return got

    @property
    def waits(self) -> bool:
        """Return whether it may have more, but not now."""
        return self.may_wait and self._taken < self._spare and not self._is_loaded

    def wait(self, resume: Callable[[], None]) -> None:
        """Call `resume` when there may be more."""
        self._room.wait(self, resume)

    async def turn(self) -> None:
        """Wait until there may be more."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        turn = loop.create_future()
        self.wait(lambda: None if turn.done() else turn.set_result(None))
        await turn
        self.held += loop.time() - begun

    def loaded(self) -> None:
        """Note that the download has ended, in whatever way: it needs no more."""
        if not self._is_loaded:
            self._is_loaded = True
            self._room.loaded(self, self._taken)

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Return no claim: a page that another process gets, or a copy, has none of this room."""
        return _no_claim, ()

    def __del__(self) -> None:
        if self._taken:
            self._room.give_back(self._taken, was_loaded=self._is_loaded)


def claim_of(room: BodyRoom, most: int) -> Claim | None:
    """Return the claim of a body that may have up to `most` bytes; None if it needs no room."""
    return (
        Claim(room, most - BYTES_WITHOUT_CLAIM, may_wait=True)
        if most > BYTES_WITHOUT_CLAIM
        else None
    )


def _no_claim() -> None:
    """Return None: a copy of a body has no claim."""
