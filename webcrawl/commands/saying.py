"""What commands print while they work."""

from __future__ import annotations

import sys

from webcrawl.logs.readable import readable


def say(line: str) -> None:
    """Prints a line at once, escaped: names of files and of hosts may contain anything."""
    sys.stdout.write(f"{readable(line)}\n")
    sys.stdout.flush()
