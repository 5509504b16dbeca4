"""The places in the browser, and the pages that wait for one, the best first, in bounds."""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from itertools import count

BY_REQUEST = float("inf")  # worth of a page whose rendering its spider asks for: it never gives way


class BrowserPlaces:
    """Gives the places in the browser to pages, those that are worth most first.

    Of equal worth, the page that comes first is served first.
    """

    def __init__(self, places: int, most: float = float("inf")) -> None:
        """`most`: pages that may have a place or wait for one."""
        self._free = places
        self._max_pages = most
        self._held = 0  # places that pages have
        # A heap: negated worth, a number by which pages of equal worth keep their order, and the
        # turn, which gets True with a place, and False for a page that is sent away.
        self._waiting: list[tuple[float, int, asyncio.Future[bool]]] = []
        self._numbers = count()

    async def wait_for_place(self, worth: float) -> bool:
        """Wait for a place and return True; return False if too many pages wait that are worth more.

        Who gets a place has to call `leave`.
        """
        if self._free:
            self._free -= 1
            self._held += 1
            return True
        self._drop_ended()
        is_full = self._held + len(self._waiting) >= self._max_pages
        if is_full:
            # In this order: a page that its spider asks for sends another away, too, if it can.
            has_room = self._gives_way(worth) or worth >= BY_REQUEST
            if not has_room:
                return False
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = -worth, next(self._numbers), turn
        heappush(self._waiting, entry)
        try:
            return await turn
        except asyncio.CancelledError:
            # Cancelled after it got its place, and before it has run on.
            has_place = turn.done() and not turn.cancelled() and turn.result()
            if has_place:
                self.leave()
            elif entry in self._waiting:
                self._remove(entry)
            raise

    def leave(self) -> None:
        """Give the place to the best of the pages that wait."""
        self._drop_ended()
        if self._waiting:
            _, _, turn = heappop(self._waiting)
            turn.set_result(True)
        else:
            self._free += 1
            self._held -= 1

    def _gives_way(self, worth: float) -> bool:
        """Send away the waiting page that is worth least; return False if none is worth less."""
        worst = max(self._waiting, default=None)
        if worst is None:
            return False
        negated_worth, _, turn = worst
        if -negated_worth >= worth:
            return False
        self._remove(worst)
        turn.set_result(False)
        return True

    def _drop_ended(self) -> None:
        """Drop pages that were cancelled: they wait no more, though their tasks have not run on."""
        self._waiting = [entry for entry in self._waiting if not entry[2].done()]
        heapify(self._waiting)

    def _remove(self, entry: tuple[float, int, asyncio.Future[bool]]) -> None:
        self._waiting.remove(entry)
        heapify(self._waiting)
