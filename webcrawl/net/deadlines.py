"""Deadlines of all pending requests on one timer."""

from __future__ import annotations

import asyncio

from webcrawl.net.connection import Connection
from webcrawl.net.late import LATE
from webcrawl.net.protocols import Bounds

AGAIN = 0.5  # seconds between two looks at an answer that comes slowly


class Deadlines:
    """Expires late requests, to the millisecond. A timer for each request would cost 4 us per page.

    Each request has the time of the next look at it: its deadline, or before that the time when it is too slow. An
    answer that comes gets more time with each look.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._asked: dict[Connection, tuple[float, float, float]] = {}  # next look, deadline, when it was asked
        self._timer: asyncio.TimerHandle | None = None
        self._at = float("inf")  # when the timer fires: no later than the first look

    def use(self, bounds: Bounds) -> None:
        """These hold for requests from now on."""
        self._bounds = bounds

    def add(self, connection: Connection, deadline: float) -> None:
        """Watch a request that is sent now; `deadline` is in the loop's time."""
        now = asyncio.get_running_loop().time()
        look = min(deadline, self._bounds.patience(now, 0))
        self._asked[connection] = (look, deadline, now)
        if look < self._at:
            self._look_at(look)

    def remove(self, connection: Connection) -> None:
        """Stop watching: the request is answered or abandoned."""
        self._asked.pop(connection, None)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = None, float("inf")

    def _look_at(self, when: float) -> None:
        self.close()
        loop = asyncio.get_running_loop()
        self._at = max(when, loop.time())
        self._timer = loop.call_at(self._at, self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._at > LATE:  # what came meanwhile is not read yet
            self._look_at(now + AGAIN)
            return
        now, self._at = max(now, self._at), float("inf")
        for connection, (look, deadline, asked) in list(self._asked.items()):
            if look > now:
                continue
            held = connection.held
            until = min(deadline, self._bounds.patience(asked, connection.received)) + held
            if until > now:
                self._asked[connection] = (min(deadline + held, max(until, now + AGAIN)), deadline, asked)
            else:
                del self._asked[connection]
                connection.expire()
        if self._asked:
            self._look_at(min(look for look, _, _ in self._asked.values()))
