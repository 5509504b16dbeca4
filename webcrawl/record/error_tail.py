"""The end of logs/errors.log: the last unexpected errors, each with its traceback."""

from __future__ import annotations

import os
import re
from pathlib import Path

from webcrawl.store.disk import regular

NAME = "logs/errors.log"
TAIL = 128 << 10  # bytes that are read
LINES = 30  # of one error that are given: the first one, and the last
_BEGIN = re.compile(r"(?m)^(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def last_errors(jobdir: Path, most: int) -> list[str]:
    """The last ones, the latest first; none if nothing has ever been written, or it cannot be read."""
    try:
        with regular(jobdir / NAME) as file:
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(size - TAIL, 0))
            text = file.read(TAIL).decode("utf-8", "replace")
    except OSError:
        return []
    found = [one.strip() for one in _BEGIN.split(text)]
    if start and found:  # it may be cut off
        del found[0]
    return [_short(one) for one in reversed(found) if one][:most]


def _short(error: str) -> str:
    lines = error.splitlines()
    if len(lines) > LINES:
        lines = [lines[0], "  ...", *lines[-LINES + 2 :]]
    return "\n".join(lines)
