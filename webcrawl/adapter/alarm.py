"""Ends the process from outside of Python, if it cannot end by itself."""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys


class Alarm:
    """SIGALRM, which the kernel sends and which no lock, no C library and no want of memory holds up."""

    def __init__(self) -> None:
        self._armed = False

    def arm(self, seconds: float) -> None:
        """In so many seconds the process says where it is, and dies. Not if somebody else uses this timer."""
        if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]:
            return
        with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):  # it has no standard error
            faulthandler.register(signal.SIGALRM, sys.__stderr__, all_threads=True, chain=True)  # type: ignore[arg-type]
        signal.setitimer(signal.ITIMER_REAL, seconds)
        self._armed = True

    def disarm(self) -> None:
        """Takes back what `arm` did."""
        if self._armed:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.unregister(signal.SIGALRM)
