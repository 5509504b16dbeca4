"""CPU time of a command and of all that it starts: what ends after its parent is waited for here."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

ADOPT = 36  # PR_SET_CHILD_SUBREAPER: this process becomes the parent of orphans below it
PATIENCE = 10.0  # seconds that a browser's processes have to end


@contextmanager
def cpu_of_all() -> Iterator[list[float]]:
    """Yields a list that has the seconds of all processes which were started within, and have
    ended, afterwards.
    """
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    before, found = _children(), list[float]()
    yield found
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.1)
        except ChildProcessError:
            break
    found.append(_children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
