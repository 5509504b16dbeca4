"""Keeps checkpoints between pages: while one is taken, finished downloads wait outside.

What a kill does to a page, by how far it had come. Everything goes back to the last COMMIT
(checkpointing.py), which holds whole pages only:

    its download is under way   its URL counts as queued: the next run asks for it again
    it waits here               the same; nothing of it was written
    it is in the spider or      the same: what it writes is kept in `Trip.writes`, and done in the
    the pipelines               turn of the event loop that books its URL (page_end.py)
    it is away, or overdue      the same: checkpoints leave it out. Its inline downloads are logged
                                and archived already, and not a second time (inline.Halfway)
    it is booked, after the     the same: outputs are truncated, and the state is rolled back, so
    last COMMIT                 that its URL is queued again
    it is in a COMMIT           nothing: its URL is not requested again, and all it wrote is there

A pipeline that writes by itself may thus get a page twice (docs/pipelines.md says what helps).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from webcrawl.crawl.trip import Trip

PATIENCE = 1.0  # seconds that a checkpoint waits for pages that may wait for one that is away
OVERDUE = 30.0  # and for any other: from then on it is left out, until it is booked


class ReadyPages(Protocol):
    """Pages that are inside the barrier, and that no part of the crawl has begun to visit.

    Whoever keeps them (the `Driver`) asks `Barrier.may_begin` before it begins with any.
    """

    def __len__(self) -> int: ...

    def go_on(self) -> None:
        """Begin with them soon: the barrier does not hold them back any more."""


class NoneReady:
    """The ready pages of a crawl that begins with each page as soon as it comes: there are none."""

    def __len__(self) -> int:
        return 0

    def go_on(self) -> None:
        pass


class Barrier:
    """Lets no downloaded page in while a checkpoint is taken.

    Pages *inside* are downloaded but not yet booked; `shut` waits until none is left but those
    that the checkpoint leaves out. Left out is a page that is *away*, because it waits for an
    inline download; one that is *overdue*, because it has taken too long; and one that is *ready*:
    nothing of it is begun, and a thousand of them, which a slow machine may have, would hold the
    checkpoint up for a second.
    """

    def __init__(self, *, holds_ready: bool = True) -> None:
        """`holds_ready`: a checkpoint counts ready pages as under way, and does not await them."""
        self._ready: ReadyPages = NoneReady()
        self._holds_ready = holds_ready
        self._holds_back_ready = False  # now: ready pages may not be begun, and are left out
        self.inside: set[Trip] = set()
        # Of those inside, the pages that a checkpoint leaves out: away or overdue. While the
        # barrier is shut, none is taken back, for the checkpoint may have left it out already.
        self.out: set[Trip] = set()
        self._downloads_awaited: Counter[Trip] = Counter()  # how many, by the page that waits
        self._overdue: set[Trip] = set()
        self.on_overdue: Callable[[set[Trip]], object] = set  # is told of them, once each
        self._open = asyncio.Event()
        self._open.set()
        self._empty = asyncio.Event()  # for `shut`, which clears it

    def watch(self, ready: ReadyPages) -> None:
        """Count these pages as ready, and tell them when they may be begun with again."""
        self._ready = ready

    async def enter(self, page: Trip) -> None:
        """Let a page in, after waiting while the barrier is shut, unless it is inside."""
        # In a loop: another checkpoint may shut it before this task has its turn.
        while page not in self.inside and not self._open.is_set():
            await self._open.wait()
        self.enter_open(page)

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def may_begin(self) -> bool:
        """Return whether pages that are ready may be begun with.

        Call it after a page became ready, even if none is to be begun: while it holds them back,
        one more ready page may be the last that `shut` waits for.
        """
        if self._holds_back_ready:
            self._note_if_empty()
        return not self._holds_back_ready

    def enter_open(self, page: Trip) -> None:
        """Let a page in at once; the caller has seen to it that the barrier is open."""
        self.inside.add(page)

    def leave(self, page: Trip) -> None:
        """Note that a page is booked; a page that never entered may leave."""
        self.inside.discard(page)
        self.out.discard(page)
        self._overdue.discard(page)
        if not self._open.is_set():
            self._note_if_empty()

    def away(self, page: Trip) -> None:
        """Note that a page begins to wait for one more inline download."""
        self._downloads_awaited[page] += 1
        if page in self.inside:
            self.out.add(page)
            self._note_if_empty()

    def back(self, page: Trip) -> None:
        """Note that a page has the answer of one inline download that it waited for."""
        self._downloads_awaited[page] -= 1
        if not self._downloads_awaited[page]:
            del self._downloads_awaited[page]
            if self._open.is_set():
                self._bring_in()

    async def shut(self, may_be_stuck: Callable[[], bool] = bool) -> None:
        """Let no more pages in, and wait until all inside have left, are away or only ready.

        If some are still there after PATIENCE, they may need one of the pages that are left out.
        So ready pages are begun with after all; and if `may_be_stuck` says that pages may wait for
        a page that is away, all are left out. After OVERDUE the rest is left out in any case: a
        page that never returns would keep the crawl from every checkpoint.
        """
        self._open.clear()
        self._holds_back_ready = self._holds_ready
        waited = 0.0
        while not self._is_empty():
            self._empty.clear()
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._empty.wait()
            except TimeoutError:
                self._release_ready()
                waited += PATIENCE
                # A page may wait for another page's download without our knowing, as when a media
                # pipeline needs one file for two pages.
                if may_be_stuck():
                    self.out |= self.inside
                elif waited >= OVERDUE:
                    late = self.inside - self.out
                    self._overdue |= late
                    self.out |= late
                    self.on_overdue(late)

    def open(self) -> None:
        self._bring_in()
        self._open.set()
        self._release_ready()

    def _release_ready(self) -> None:
        if self._holds_back_ready:
            self._holds_back_ready = False
            self._ready.go_on()

    def _is_empty(self) -> bool:
        """Return whether all pages inside are left out of the checkpoint."""
        held_back = len(self._ready) if self._holds_back_ready else 0
        return len(self.inside) <= len(self.out) + held_back

    def _bring_in(self) -> None:
        """Count pages as inside again that were out, except those that still wait or are overdue."""
        self.out = {
            page for page in self.out if page in self._downloads_awaited or page in self._overdue
        }

    def _note_if_empty(self) -> None:
        if self._is_empty():
            self._empty.set()


class CheckpointWaiters:
    """Futures that end with the next COMMIT, which has all that was done before it."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def next(self) -> asyncio.Future[None]:
        """Return a future that ends with the next checkpoint, or raises why none was taken."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def tell(self, error: Exception | None = None) -> None:
        """End all futures, as a checkpoint was taken, or with the error that prevents it."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.done():  # whoever waited has gone
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
                # Looked at here, or asyncio would log it if no caller does.
                future.exception()
