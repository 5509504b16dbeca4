"""Opens files without waiting for anybody, and folders that are nobody else's.

A FIFO in the place of a file would wait for its other end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO


def regular(path: str | os.PathLike[str]) -> BinaryIO:
    """The file, to be read; OSError also for what is none. Checked is what is open, which nobody can exchange."""
    return open(path, "rb", opener=partial(_opened, wanted=stat.S_ISREG))


def appending(path: str | os.PathLike[str]) -> BinaryIO:
    """The file, made if need be, to be written to at its end; OSError also for what is neither file nor device."""
    return open(path, "ab", opener=to_append)


def to_append(path: str | os.PathLike[str], access: int) -> int:
    """A descriptor of the same, for this access."""
    return _opened(path, access | os.O_CREAT | os.O_APPEND, lambda mode: stat.S_ISREG(mode) or stat.S_ISCHR(mode))


def own_folder(path: Path) -> None:
    """Makes a folder for what is under way. One that is there must be ours: who made it could lead us elsewhere."""
    try:
        path.mkdir(0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            why = "it is not ours: choose another place"
            raise PermissionError(errno.EPERM, why, str(path)) from None


def _opened(path: str | os.PathLike[str], flags: int, wanted: Callable[[int], bool]) -> int:
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno != errno.ENXIO:  # so a FIFO that nobody reads, and a socket
            raise
    else:
        mode = os.fstat(descriptor).st_mode
        if wanted(mode):
            os.set_blocking(descriptor, True)
            return descriptor
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
