"""What commands print while they work."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from webcrawl.logs.readable import readable


def say(line: str) -> None:
    """Prints a line at once, as `say_all` does, escaped: names of files and of hosts may contain anything."""
    say_all(f"{readable(line)}\n")


def say_all(text: str | bytes) -> None:
    """Prints a whole answer, or what somebody wants of it who reads through a pipe; OSError if it cannot be written.

    A reader who has read enough stops nothing: the command goes on, and its exit status says how it went. Nor does it
    matter if nobody wants to read anything (`>&-`).
    """
    output: TextIO | None = sys.stdout
    if output is None:
        return
    try:
        if isinstance(text, bytes):
            output.buffer.write(text)
        else:
            output.write(text)
        output.flush()
    except BrokenPipeError:
        read_enough()


def read_enough() -> None:
    """Whoever reads what is printed has closed the pipe: nothing that follows is an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
