"""Notices a lack of memory or threads, so that the crawl ends before it keeps half a change.

What Scrapy, Twisted or asyncio catches, they only log: the page is then done for them, though its
links or records may be missing. If the process cannot end by itself then, the kernel ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from webcrawl.base.errors import lack


class Alarm:
    """SIGALRM, which the kernel sends, and which no lock, C library or lack of memory holds up."""

    def __init__(self) -> None:
        self._armed = False

    def arm(self, seconds: float) -> None:
        """Have the process print its stacks and die after so many seconds, unless disarmed.

        Nothing is done if other code uses this timer.
        """
        has_handler = signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
        if has_handler or signal.getitimer(signal.ITIMER_REAL)[0]:
            return
        output = sys.__stderr__
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # it cannot be written to
            # a full pipe would hold it up
            if output is not None and select.select((), (output,), (), 0)[1]:
                faulthandler.register(signal.SIGALRM, output, all_threads=True, chain=True)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        self._armed = True

    def disarm(self) -> None:
        """Take back what `arm` did, if it did anything."""
        if self._armed:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.unregister(signal.SIGALRM)


# bytes that are given up at the first lack, so that the crawl can end in good order
RESERVE = 2 << 20
PATIENCE = 15.0  # seconds for that


class ExhaustionWatch(logging.Handler):
    """Calls `fail` for each lack that is logged with a traceback, or ends a callback or thread.

    The traceback is left out of the log: it says where memory ended, not where it went.
    """

    def __init__(self, fail: Callable[[Exception], None], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._fail = fail
        self._loop = loop
        self._thread = threading.get_ident()
        self._reserve: bytearray | None = bytearray(RESERVE)
        self._alarm = Alarm()
        self._has_ended = False
        self._before = loop.get_exception_handler(), sys.unraisablehook, threading.excepthook

    def watch(self) -> None:
        """From now on."""
        logging.getLogger().handlers.insert(0, self)  # before those that write
        self._loop.set_exception_handler(self._of_loop)
        sys.unraisablehook = self._unraisable
        threading.excepthook = self._of_thread

    def unwatch(self) -> None:
        """Stop watching: the crawl has ended.

        What another one of this process has set meanwhile stays, and is passed on by ours.
        """
        self._has_ended = True
        loop, unraisable, of_thread = self._before
        if self._loop.get_exception_handler() == self._of_loop:
            self._loop.set_exception_handler(loop)
        if sys.unraisablehook == self._unraisable:
            sys.unraisablehook = unraisable
        if threading.excepthook == self._of_thread:
            threading.excepthook = of_thread
        logging.getLogger().removeHandler(self)
        self._alarm.disarm()

    def give_way(self) -> None:
        """Free the reserve: a lack is known.

        The crawl has to end soon now, in one way or another.
        """
        self._reserve = None
        self._alarm.arm(PATIENCE)

    def notice(self, error: BaseException | None) -> bool:
        """Return whether an error is a lack of the machine; if so, end the crawl.

        For any thread.
        """
        if self._has_ended or not isinstance(error, Exception) or not lack(error):
            return False
        # Freed first: `fail` logs, and begins the end of the crawl.
        self._reserve = None
        if threading.get_ident() == self._thread:
            self._fail(error)
        else:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._fail, error)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and self.notice(record.exc_info[1]):
            record.exc_info = record.exc_text = None

    def _unraisable(self, found: sys.UnraisableHookArgs) -> None:
        if not self.notice(found.exc_value):
            self._before[1](found)

    def _of_thread(self, found: threading.ExceptHookArgs) -> None:
        if not self.notice(found.exc_value):
            self._before[2](found)

    def _of_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if self.notice(context.get("exception")):
            return
        before = self._before[0]
        if before is not None:
            before(loop, context)
        else:
            loop.default_exception_handler(context)
