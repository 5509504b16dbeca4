"""When questions have to be answered: one timer for all of them."""

from __future__ import annotations

import asyncio

from webcrawl.net.connection import Connection


class Deadlines:
    """Ends the questions that are late, to the millisecond; a timer for each would cost 4 us a page."""

    def __init__(self) -> None:
        self._asked: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._at = float("inf")  # when it looks: no later than the first deadline

    def add(self, connection: Connection, deadline: float) -> None:
        """A question is asked; the loop's time."""
        self._asked[connection] = deadline
        if deadline < self._at:
            self._look_at(deadline)

    def remove(self, connection: Connection) -> None:
        """It is answered, or given up."""
        self._asked.pop(connection, None)

    def close(self) -> None:
        """No timer is left behind."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = None, float("inf")

    def _look_at(self, when: float) -> None:
        self.close()
        self._at = when
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        now, self._at = max(asyncio.get_running_loop().time(), self._at), float("inf")
        for connection in [one for one, deadline in self._asked.items() if deadline <= now]:
            del self._asked[connection]
            connection.expire()
        if self._asked:
            self._look_at(min(self._asked.values()))
