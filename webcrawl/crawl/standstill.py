"""Notices that the event loop stands still, says where, and ends a crawl that should stop.

Code that does not return, as a pipeline that waits for a database without an end, holds up pages,
checkpoints, commands and Scrapy's handling of signals alike. Only another thread can still say so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from webcrawl.crawl.failures import depth, place
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

LOOK_INTERVAL = 1.0  # seconds between two looks
# looks without a turn of the loop, until a line says so, and until a crawl that is to stop ends
REPORTED_AFTER_LOOKS, ENDED_AFTER_LOOKS = 10, 60
REPORT_TIMEOUT = 5.0  # seconds for a line: the log may be what stands still


class Standstill:
    """Looks from a thread, once a second, whether the event loop has turned since the last look.

    It counts looks in a row at a loop that has not, and no seconds: a process that was stopped, as
    by Ctrl-Z, has many of these.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, saved: Callable[[], str]) -> None:
        """`saved` says after which checkpoint nothing is kept. To be made in the loop's thread."""
        self._loop = loop
        self._saved = saved
        self._thread = threading.get_ident()
        self._looks = 0  # in a row at a loop that had not turned
        self._turned = True  # since the last look
        self._is_to_stop = False  # the crawl was told to stop
        self._over = threading.Event()
        self._below = depth(sys._getframe())  # noqa: SLF001 - lines that lead to the loop, known from its first turn on
        self._worker = Worker()
        self._worker.submit(self._watch)

    @property
    def stands(self) -> bool:
        """Return whether the loop has not turned for two looks."""
        return self._looks > 1

    def note_stop(self) -> None:
        """Note that the crawl is to stop: it has ENDED_AFTER_LOOKS to return to the loop.

        A signal handler calls this.
        """
        # A standstill that was reported is reported once more, now with what follows.
        self._looks = min(self._looks, REPORTED_AFTER_LOOKS - 1)
        self._is_to_stop = True

    def end(self, status: int) -> None:
        """End the process as a kill would, after a line in the log."""
        line = "%s does not return, so the crawl ends as if killed: nothing %s is kept"
        speak(logger.critical, line, self._where(), self._saved())
        os._exit(status)

    def close(self) -> None:
        """End the watch: the loop may do as it likes from now on."""
        self._over.set()
        self._worker.close()

    def _watch(self) -> None:
        """Look regularly, in a thread, whether the event loop still turns.

        A loop that has stood still for REPORTED_AFTER_LOOKS is reported. After ENDED_AFTER_LOOKS
        the process ends if the crawl is to stop.
        """
        while not self._over.wait(LOOK_INTERVAL):
            if self._turned:
                self._looks = 0
                self._turned = False
                try:
                    self._loop.call_soon_threadsafe(self._turn)
                except RuntimeError:  # it is closed
                    return
                continue
            self._looks += 1
            if self._looks == REPORTED_AFTER_LOOKS:
                self._say()
            if self._looks >= ENDED_AFTER_LOOKS and self._is_to_stop:
                self.end(1)

    def _turn(self) -> None:
        self._turned = True
        self._below = depth(sys._getframe().f_back)  # noqa: SLF001 - documented all the same

    def _say(self) -> None:
        """Log where the loop stands still, and what follows if the crawl is to stop."""
        then = (
            f"; it gets {ENDED_AFTER_LOOKS - REPORTED_AFTER_LOOKS} s more, and a second signal ends the crawl at once"
            if self._is_to_stop
            else ""
        )
        line = "the crawl is blocked: %s has not returned for %d s%s"
        speak(logger.warning, line, self._where(), REPORTED_AFTER_LOOKS, then)

    def _where(self) -> str:
        return place(sys._current_frames()[self._thread], self._below)  # noqa: SLF001 - documented all the same


def speak(say: Callable[..., None], line: str, *words: object) -> None:
    """Log a line in a thread of its own, and wait REPORT_TIMEOUT for it at most.

    A pipe that is not read, or a terminal that Ctrl-S stopped, blocks the log.
    """
    # no more threads, or no more of that log
    with suppress(RuntimeError, MemoryError, TimeoutError):
        Worker().submit(say, line, *words).result(REPORT_TIMEOUT)
