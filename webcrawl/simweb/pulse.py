"""When the server's loop was alive: what clients do while it stands still it notices late."""

from __future__ import annotations

import asyncio
import time
from collections import deque

BEAT = 0.005  # seconds
TURNS = 6  # of the loop, from a client's leaving until `connection_lost` says so: two, or four with TLS; and some more


class Pulse:
    """Notes the time in regular beats, each in another turn of the loop.

    A busy machine, or an answer that takes long to make, lets a loop stand still for half a second. All that clients
    did meanwhile then seems to happen at once, and afterwards.
    """

    def __init__(self) -> None:
        self._beats: deque[float] = deque(maxlen=TURNS)
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<Pulse {len(self._beats)} beats>"

    def start(self) -> None:
        self._beats.append(time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(BEAT, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def since(self) -> float:
        """Whatever is noticed now happened after this moment."""
        return self._beats[0] if self._beats else 0.0
