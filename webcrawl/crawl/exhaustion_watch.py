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

        Nothing is done if other code uses the signal or its timer.
        """
        has_handler = signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
        if has_handler or signal.getitimer(signal.ITIMER_REAL)[0]:
            return
        # The signal's own action ends the process (`chain`), after the stacks if those can be written.
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
PATIENCE = 15.0  # seconds for that: then SIGALRM ends the process


class ExhaustionWatch(logging.Handler):
    """Calls `fail` for each lack that is logged with a traceback, or ends a callback or thread.

    A *lack* is an error that says that the machine has no more memory or threads (`lack`).

    The traceback is left out of the log: it says where memory ended, not where it went.
    """

    def __init__(self, fail: Callable[[Exception], None], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._fail = fail
        self._loop = loop
        self._thread = threading.get_ident()  # of the event loop
        self._reserve: bytearray | None = bytearray(RESERVE)
        self._alarm = Alarm()
        self._has_ended = False
        # the hooks that `watch` replaces: they get what is no lack
        self._loop_handler_before = loop.get_exception_handler()
        self._unraisable_hook_before = sys.unraisablehook
        self._thread_hook_before = threading.excepthook

    def watch(self) -> None:
        """Hear of errors from now on: of those logged, and of those that nothing has caught."""
        logging.getLogger().handlers.insert(0, self)  # before those that write
        self._loop.set_exception_handler(self._of_loop)
        sys.unraisablehook = self._unraisable
        threading.excepthook = self._of_thread

    def unwatch(self) -> None:
        """Stop watching: the crawl has ended.

        A hook that another crawl of this process has set meanwhile stays. It may call ours, which
        then only passes the error on.
        """
        self._has_ended = True
        if self._loop.get_exception_handler() == self._of_loop:
            self._loop.set_exception_handler(self._loop_handler_before)
        if sys.unraisablehook == self._unraisable:
            sys.unraisablehook = self._unraisable_hook_before
        if threading.excepthook == self._of_thread:
            threading.excepthook = self._thread_hook_before
        logging.getLogger().removeHandler(self)
        self._alarm.disarm()

    def give_way(self) -> None:
        """Free the reserve, because of a lack: the process ends now, by itself or by the alarm."""
        self._reserve = None
        self._alarm.arm(PATIENCE)

    def notice(self, error: BaseException | None) -> bool:
        """Return whether an error is a lack of the machine; if so, end the crawl.

        It may be called in any thread.
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
            self._unraisable_hook_before(found)

    def _of_thread(self, found: threading.ExceptHookArgs) -> None:
        if not self.notice(found.exc_value):
            self._thread_hook_before(found)

    def _of_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if self.notice(context.get("exception")):
            return
        if self._loop_handler_before is not None:
            self._loop_handler_before(loop, context)
        else:
            loop.default_exception_handler(context)
