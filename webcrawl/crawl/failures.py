"""How a failure is told, and where in the user's own code it was."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from traceback import FrameSummary, extract_stack, extract_tb
from types import FrameType
from typing import Any

from webcrawl.base.errors import lack
from webcrawl.base.own_code import OwnCodeError
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.store.errors import StoreError

# Beginnings of the names of files that are not the user's: ours, Python's, what is installed, and
# code without a file
_NOT_THE_USERS = (
    f"{Path(__file__).parents[1]}{os.sep}",
    *(
        f"{sysconfig.get_path(kind)}{os.sep}"
        for kind in ("stdlib", "platstdlib", "purelib", "platlib")
    ),
    "<",
)


def as_failure(error: Exception, saved: str) -> tuple[StoreError, bool]:
    """Return the error as the crawl keeps it, and True if it needs no traceback in the log.

    `saved` says in words what is lost: nothing "after the checkpoint of" a time, for instance. What
    the system or a hive's server refused is told in one line; anything else is a bug, and has a
    traceback.
    """
    if isinstance(error, StoreError):
        return error, True
    refused = lack(error)
    if not refused and isinstance(error, OSError | HiveError):
        refused = str(error)
    if refused:
        failure = StoreError(f"{refused}: nothing {saved} was kept")
    else:
        words = str(error) if isinstance(error, OwnCodeError) else repr(error)
        failure = StoreError(f"an unexpected error stopped a change halfway: {words}{where(error)}")
    failure.__cause__ = error
    return failure, bool(refused)


def where(error: BaseException) -> str:
    """Return the last line of code of the user's own: of a filter or a prioritizer."""
    line = _of_the_user(extract_tb(error.__traceback__))
    return f" in {line}" if line else ""


def place(frame: FrameType, below: int = 0) -> str:
    """Return the last line of the user's own code in a running thread, or else its last line.

    `below`: so many of its first lines started the event loop, as the user's own program may; they
    do not count.
    """
    lines = extract_stack(frame)
    return _of_the_user(lines[below:]) or _line(lines[-1])


def depth(frame: FrameType | None) -> int:
    """Return how many lines of a thread led to this frame, itself included."""
    lines = 0
    while frame is not None:
        lines, frame = lines + 1, frame.f_back
    return lines


def suspended(coroutine: Any) -> str:
    """Return the last line of the user's own code in which a coroutine waits; empty if unknown."""
    lines: list[FrameSummary] = []
    while coroutine is not None:
        frame, coroutine = _frame_and_awaited(coroutine)
        if frame is not None:
            lines += extract_stack(frame, limit=1)
    return _of_the_user(lines)


def _frame_and_awaited(coroutine: Any) -> tuple[FrameType | None, Any]:
    """Return the frame of a coroutine or generator, and what it waits for; else None for both."""
    for kind, awaited in (("cr", "await"), ("gi", "yieldfrom"), ("ag", "await")):
        if hasattr(coroutine, f"{kind}_frame"):
            return getattr(coroutine, f"{kind}_frame"), getattr(coroutine, f"{kind}_{awaited}")
    return None, None


def _of_the_user(lines: Iterable[FrameSummary]) -> str:
    """Return the last of these lines that is the user's own; empty if none is."""
    # The innermost line: what it calls of ours, or of Python's, is not what the user can change.
    theirs = [one for one in lines if not one.filename.startswith(_NOT_THE_USERS)]
    return _line(theirs[-1]) if theirs else ""


def _line(line: FrameSummary) -> str:
    return f"{line.name} ({line.filename}, line {line.lineno})"
