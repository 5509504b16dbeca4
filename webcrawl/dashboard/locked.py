"""Whether a process works on a crawl, seen from outside: asking for its lock would keep a crawl from starting."""

from __future__ import annotations

import os
from pathlib import Path

LOCKS = Path("/proc/locks")


def is_locked(jobdir: Path, locks: Path = LOCKS) -> bool:
    """Whether somebody holds the lock of this crawl, as far as this system tells; reads the list of all locks."""
    try:
        about = (jobdir / "state/lock").stat()
        text = locks.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    device = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    return any(device in line.split() and "FLOCK" in line for line in text.splitlines() if "->" not in line)
