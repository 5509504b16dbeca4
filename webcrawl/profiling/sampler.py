"""A sampling profiler: who is at work each time that this process has used so much CPU time more.

Python runs a signal's handler between two of its instructions: after a call into C, and when a function begins. So the
frame that the handler sees is the one that called into C, or a function that has not done anything yet, whose time is
not what was measured but that of whoever called it (docs/decisions/profiling-sampler.md).
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dis import opmap
from types import FrameType, TracebackType
from typing import Self

INTERVAL = 0.01  # seconds of CPU time; a sample costs 10 us
RESUME = opmap["RESUME"]

Judge = Callable[[FrameType | None], str]
"""The name that a stack counts for, from its innermost frame; the empty string if it has none."""


class Sampler:
    """As a context: samples from its beginning to its end. `spent` has all CPU seconds, by what `judge` said.

    One at a time in a process, and in its main thread. Other threads are looked at when that one is.
    """

    def __init__(self, judge: Judge, *, interval: float = INTERVAL) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.samples = 0
        self._judge, self._interval = judge, interval
        self._main = threading.get_ident()
        self._clocks: dict[int, float] = {}  # of other threads, by their numbers: CPU seconds so far
        self._before: dict[int, str] = {}  # and what each was at when it was last seen to be at something
        self._sampling = False
        self._sampled = (0.0, 0.0)  # CPU seconds of the process and of the main thread at the last sample

    def __repr__(self) -> str:
        return f"<Sampler samples={self.samples}>"

    def __enter__(self) -> Self:
        self._sampled = (time.process_time(), time.thread_time())
        self._clocks = {thread: _clock(thread) for thread in _frames() if thread != self._main}
        signal.signal(signal.SIGPROF, self._sample)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, self._interval, self._interval)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # by default, one that is still on its way would end the process
        self._sample(signal.SIGPROF, sys._getframe())  # noqa: SLF001 - documented all the same

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if self._sampling:  # a finalizer runs within a sample
            return
        self._sampling = True
        try:
            self._look(frame)
        finally:
            self._sampling = False

    def _look(self, frame: FrameType | None) -> None:
        process, main = time.process_time(), time.thread_time()
        others = process - self._sampled[0] - (main - self._sampled[1])
        self.spent[self._judge(_worked(frame))] += main - self._sampled[1]
        self._sampled = (process, main)
        self.samples += 1
        for thread, stack in _frames().items():
            if thread != self._main:
                others -= self._sample_other(thread, stack)
        self.spent[""] += others  # of threads that are gone

    def _sample_other(self, thread: int, stack: FrameType) -> float:
        """What another thread has used since the last sample; if it waits now, it did what it was seen at last."""
        used = _clock(thread)
        since = used - self._clocks.get(thread, 0.0)
        since = used if since < 0 else since  # a new thread has a gone one's number
        self._clocks[thread] = used
        stage = self._before[thread] = self._judge(stack) or self._before.get(thread, "")
        self.spent[stage] += since
        return since


def _worked(frame: FrameType | None) -> FrameType | None:
    """The frame whose time it was."""
    if frame is not None and frame.f_code.co_code[frame.f_lasti] == RESUME:
        return frame.f_back
    return frame


def _frames() -> dict[int, FrameType]:
    """What all threads are at.

    The interpreter holds a lock meanwhile, for which a second call waits for ever: nothing of Python's may run within
    the first one, no finalizer of garbage either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()  # noqa: SLF001 - documented all the same
    finally:
        if enabled:
            gc.enable()


def _clock(thread: int) -> float:
    """CPU seconds of a thread. Python knows it, so it is there, as long as we have the interpreter for ourselves."""
    return time.clock_gettime(time.pthread_getcpuclockid(thread))
