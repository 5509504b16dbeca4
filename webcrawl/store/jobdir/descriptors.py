"""Descriptors of a file on which SQLite has locks: they stay open until nobody in this process reads it any more.

Closing any descriptor of a file gives up all locks of the process on it (POSIX), and with them the checkpoint that is
being read.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from webcrawl.store.regular import regular


@dataclass(slots=True, eq=False)
class _Shared:
    """The descriptor that all readers of one file share."""

    readers: int = 0
    opened: ExitStack = field(default_factory=ExitStack)


_MUTEX = Lock()
_SHARED: dict[Path, _Shared] = {}


class Descriptors:
    """One reader of a file; made before SQLite opens it, closed after SQLite has closed it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _MUTEX:
            self._shared = _SHARED.setdefault(path, _Shared())
            self._shared.readers += 1

    def open(self) -> BinaryIO:
        return self._shared.opened.enter_context(regular(self._path))

    def mapped(self, path: Path) -> mmap:
        """The bytes of this or another file, kept as long."""
        file = self._shared.opened.enter_context(regular(path))
        return self._shared.opened.enter_context(mmap(file.fileno(), 0, access=ACCESS_READ))

    def close(self) -> None:
        with _MUTEX:
            self._shared.readers -= 1
            if not self._shared.readers:
                del _SHARED[self._path]
                self._shared.opened.close()
