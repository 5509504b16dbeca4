"""Ctrl-C once, however many signals it takes: a terminal signals a whole process group, and so may `timeout`.

A terminal that is closed (SIGHUP) ends the crawl as SIGTERM does, unless the signal is ignored, as nohup has it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType

from scrapy.utils.asyncio import call_later

from webcrawl.adapter.exhaustion_watch import Alarm

SAME = 0.5  # seconds within which further signals count as the one before
LAST = 10.0  # seconds in which a crawl that gets a second one must end; then the kernel ends it
NUMBERS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], object]


class OneSignal:
    """Stands before Scrapy's handlers, of which the first ends the crawl and installs the second, which forces it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, arm: Callable[[float], None] | None = None) -> None:
        self._clock, self._arm = clock, arm or Alarm().arm
        self._last = float("-inf")
        self._behind: dict[int, Handler] = {}

    def install_soon(self) -> None:
        """Call before the event loop runs: Scrapy installs its handlers right before that."""
        call_later(0, self.install)

    def install(self) -> None:
        for number in NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self.handle:  # not signal.SIG_IGN
                self._behind[number] = handler
                signal.signal(number, self.handle)
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL and signal.SIGTERM in self._behind:
            self._behind[signal.SIGHUP] = self._behind[signal.SIGTERM]
            signal.signal(signal.SIGHUP, self.handle)

    def handle(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if number == signal.SIGHUP and self._last > float("-inf"):  # shell and kernel send one each: nobody is in haste
            return
        if now - self._last < SAME:
            return
        if self._last > float("-inf"):
            self._arm(LAST)
        self._last = now
        self._behind[number](number, frame)
        self.install()
