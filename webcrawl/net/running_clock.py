"""A clock that stands while this process does not run: stopped by a signal, paused with its container, or starved.

How long a download took decides how long its host is left alone, and whether it was late. The time in which the crawler
itself did not run is part of no download.
"""

from __future__ import annotations

import time
from collections import deque

from webcrawl.net.protocols import Clock

BEAT = 1.0  # seconds between two beats, at most
GAP = 2.0  # seconds without a beat or a look at the clock, after which the process did not run in between
KEPT = 64  # stops that are remembered: no download outlasts as many


class RunningClock:
    """Seconds of `time.monotonic`, without those in which the process did not run.

    The event loop has to call `beat` every BEAT seconds. Without a first beat, and after `stop`, no second is left out.
    """

    def __init__(self, steady: Clock = time.monotonic) -> None:
        self._steady = steady
        self._lost = 0.0  # seconds that were left out so far
        self._last = 0.0  # when the process was last seen to run, in seconds of this clock
        self._beats = False
        self._stops: deque[tuple[float, float]] = deque(maxlen=KEPT)  # when each ended, by `steady`, and its seconds

    def __call__(self) -> float:
        steady = self._steady()
        now = steady - self._lost
        if now - self._last > GAP and self._beats:
            lost = now - self._last - BEAT  # a stop may have begun right before the next beat: hosts get this second
            self._lost += lost
            self._stops.append((steady, lost))
            now -= lost
        self._last = now
        return now

    def beat(self) -> None:
        """Show that the process runs."""
        if not self._beats:
            self._last = self._steady() - self._lost
            self._beats = True
        self()

    def stop(self) -> None:
        """Leave nothing out any more: there will be no further beat."""
        self()
        self._beats = False

    def lost_since(self, begun: float) -> float:
        """Return the seconds in which the process did not run since then; `begun` is by `time.monotonic`."""
        self()
        return sum(lost for ended, lost in self._stops if ended > begun)
