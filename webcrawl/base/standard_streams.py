"""Standard input, output and error, for programs that are started without one of them (`2>&-`, some daemons)."""

import os
import sys
from typing import TextIO


def open_missing() -> None:
    """Opens the null device in the place of each that is closed.

    The next file to be opened would have its number, and what libraries and children print would go there: into
    crawl.db, perhaps.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or _nowhere(1)
    sys.stderr = sys.stderr or _nowhere(2)


def _nowhere(number: int) -> TextIO:
    return os.fdopen(number, "w", errors="replace", closefd=False)
