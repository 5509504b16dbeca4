"""Opens files that somebody named, without waiting for anybody."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def regular(path: str | os.PathLike[str]) -> BinaryIO:
    """The file, to be read; OSError also for what is none, such as a FIFO, which would wait for a writer.

    Checked is what is open, which nobody can exchange.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")
