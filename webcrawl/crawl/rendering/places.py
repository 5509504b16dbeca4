"""The places in the browser, and the pages that wait for one, the best first, in bounds."""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from itertools import count

ASKED = float("inf")  # worth of a page whose rendering its spider asks for: it never gives way


class BrowserPlaces:
    """Of equal worth, who comes first is served first.

    `most`: pages that may have a place or wait for one.
    """

    def __init__(self, places: int, most: float = float("inf")) -> None:
        self._free = places
        self._most = most
        self._held = 0
        self._waiting: list[tuple[float, int, asyncio.Future[bool]]] = []
        self._numbers = count()

    async def take(self, worth: float) -> bool:
        """Wait for a place in a browser; False if too many pages wait that are worth more."""
        if self._free:
            self._free -= 1
            self._held += 1
            return True
        self._drop_ended()
        full = self._held + len(self._waiting) >= self._most
        if full and not self._gives_way(worth) and worth < ASKED:
            return False
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = -worth, next(self._numbers), turn
        heappush(self._waiting, entry)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.done() and turn.result():
                self.leave()
            elif entry in self._waiting:
                self._remove(entry)
            raise

    def leave(self) -> None:
        """Give the place to the best of the pages that wait."""
        self._drop_ended()
        if self._waiting:
            heappop(self._waiting)[2].set_result(True)
        else:
            self._free += 1
            self._held -= 1

    def _gives_way(self, worth: float) -> bool:
        """Sends the page away that is worth least, if it is worth less than this one."""
        worst = max(self._waiting, default=None)
        if worst is None or -worst[0] >= worth:
            return False
        self._remove(worst)
        worst[2].set_result(False)
        return True

    def _drop_ended(self) -> None:
        """Drop pages that were cancelled: they wait no more, though their tasks have not run on."""
        self._waiting = [entry for entry in self._waiting if not entry[2].done()]
        heapify(self._waiting)

    def _remove(self, entry: tuple[float, int, asyncio.Future[bool]]) -> None:
        self._waiting.remove(entry)
        heapify(self._waiting)
