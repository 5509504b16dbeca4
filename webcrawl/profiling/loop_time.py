"""How long a thread has run, and how long it waited for a core that others used."""

from __future__ import annotations

import time
from pathlib import Path

SCHEDSTAT = Path("/proc/thread-self/schedstat")  # nanoseconds run, nanoseconds waited while runnable, turns


def thread_seconds(path: Path = SCHEDSTAT) -> tuple[float, float]:
    """Of the calling thread. Where the kernel does not say it, nothing is known of the waits."""
    try:
        ran, waited, *_ = path.read_bytes().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return time.thread_time(), 0.0
