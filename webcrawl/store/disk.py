"""All writing to the file system by our own code, in one small object that tests can replace by a failing one."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from webcrawl.store.regular import to_append

logger = logging.getLogger(__name__)

Buffer = bytes | bytearray | memoryview


class Disk:
    """Every change that our own code makes to a file goes through one of these methods."""

    waited = 0.0  # seconds that the main thread, which runs the event loop, has spent in `waiting`
    clock = staticmethod(time.perf_counter)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """For work that lasts as long as the disk takes. Within such work it counts once."""
        before, begun = self.waited, self.clock()
        try:
            yield
        finally:
            if threading.get_ident() == threading.main_thread().ident:
                self.waited = before + self.clock() - begun

    def create(self, path: Path, mode: int = 0o644) -> int:
        """Opens a new, empty file for reading and writing. FileExistsError if there is one: it may be somebody's."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)

    def append(self, path: Path) -> int:
        """Opens a file for appending; creates it if it does not exist."""
        return to_append(path, os.O_RDWR)

    def write(self, fd: int, data: Buffer) -> None:
        """Writes all of `data`: a write cut short by the kernel (full disk, signal) is continued."""
        rest = memoryview(data)
        written = os.write(fd, rest)
        while written < rest.nbytes:
            rest = rest.cast("B")[written:]
            written = os.write(fd, rest)

    def sync(self, fd: int) -> None:
        os.fsync(fd)

    def let_go(self, fd: int) -> None:
        """Tells the kernel to start writing this file out and to drop it from the page cache: it is not read soon."""
        if hasattr(os, "posix_fadvise"):  # macOS has none
            with contextlib.suppress(OSError):  # it is only advice
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def make_private(self, path: Path) -> None:
        """Takes a file away from all but its owner."""
        path.chmod(0o600)

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def rename(self, old: Path, new: Path) -> None:
        old.replace(new)
        self.sync_folder(new.parent)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Syncs a folder's entries: without this a synced file may be gone after a power cut."""
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def remove_unnamed(disk: Disk, path: Path) -> None:
    """Removes a file that no checkpoint names. If that fails, the next start tries again."""
    try:
        disk.unlink(path)
    except OSError as error:
        logger.warning("%s: not removed: %s", path, error)
