"""What commands print while they work."""

from __future__ import annotations

import os
import sys

from webcrawl.logs.readable import readable


def say(line: str) -> None:
    """Prints a line at once, escaped: names of files and of hosts may contain anything."""
    sys.stdout.write(f"{readable(line)}\n")
    sys.stdout.flush()


def say_all(text: str) -> None:
    """Prints a whole answer, or what somebody wants of it who reads through a pipe; OSError if it cannot be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
