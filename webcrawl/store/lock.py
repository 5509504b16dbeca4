"""One process per crawl."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from webcrawl.store.errors import StateLocked


def lock(path: Path) -> int:
    """Takes an advisory lock. Closing the returned descriptor releases it, as does the end of the process."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise StateLocked(f"{path.parent}: another process is using this crawl") from error
    return fd
