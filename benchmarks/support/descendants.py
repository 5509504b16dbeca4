"""CPU time of a command and of all that it starts: what ends after its parent is waited for here."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

PR_SET_CHILD_SUBREAPER = 36  # makes this process the parent of orphans below it
MAX_END_SECONDS = 10.0  # in which a browser's processes must end


@contextmanager
def cpu_of_all() -> Iterator[list[float]]:
    """Yield a list that has, after the block, the CPU seconds of all processes started within.

    They must have ended by then.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, found = _cpu_of_children(), list[float]()
    yield found
    until = time.monotonic() + MAX_END_SECONDS
    while time.monotonic() < until:
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.1)
        except ChildProcessError:
            break
    found.append(_cpu_of_children() - before)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
