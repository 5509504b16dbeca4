"""All writing to the file system by our own code, in one object that tests can replace.

Files are opened without waiting: a FIFO in the place of a file would wait for its other end.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from webcrawl.base.system import drop_from_cache


def regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading.

    Raise OSError if it is not a regular file: the opened one is checked, so it cannot be swapped.
    """
    return open(path, "rb", opener=partial(_opened, wanted=stat.S_ISREG))


def is_there(path: Path) -> bool:
    """Return whether there is a file or folder. Raise OSError if that cannot be told.

    Path.exists does not raise from Python 3.14 on: what may not be looked at would be missing.
    """
    try:
        path.stat()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        raise
    return True


def resolved(path: Path) -> Path:
    """Return the absolute path without symbolic links.

    Before Python 3.13 Path.resolve raises RuntimeError for a loop of links; here opening it fails.
    """
    return Path(os.path.realpath(path))


OTHERS = 0o077  # mode bits by which others than the owner reach a file


def private_bytes(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the content of a file with secrets, of at most `max_bytes`.

    Raise OSError, or ValueError if others than its owner can reach the file, or if it is longer.
    The open file is checked, which cannot be swapped.
    """
    with regular(path) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & OTHERS:
            raise ValueError(f"its mode is {mode:04o}, so others may read or change it: chmod 600")
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"it is too long: more than {max_bytes} bytes")
    return data


def appending(path: str | os.PathLike[str]) -> BinaryIO:
    """Return the file, made if need be, to be written to at its end.

    Raise OSError also for what is neither file nor device.
    """
    return open(path, "ab", opener=to_append)


def to_append(path: str | os.PathLike[str], access: int) -> int:
    """Return a descriptor of the same, for this access."""

    def is_file_or_device(mode: int) -> bool:
        # A device may be appended to, such as /dev/full
        return stat.S_ISREG(mode) or stat.S_ISCHR(mode)

    return _opened(path, access | os.O_CREAT | os.O_APPEND, is_file_or_device)


def own_folder(path: Path) -> None:
    """Make a private folder for what is under way, unless this user has one there.

    Raise PermissionError if there is something else, or another user's folder.
    """
    try:
        path.mkdir(0o700)
    except FileExistsError:
        # lstat: a link that another user has put here could lead to any folder of ours
        status = path.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not is_own:
            why = "it is not a folder of this user: choose another place"
            raise PermissionError(errno.EPERM, why, str(path)) from None


def _opened(path: str | os.PathLike[str], flags: int, wanted: Callable[[int], bool]) -> int:
    """Open a file without waiting, and return its descriptor, which blocks as usual from then on.

    `wanted` tells by the mode of the opened file whether it is of the right kind; if not, raise
    OSError (of the kind for a folder if it is one).
    """
    try:
        # A start once waited without end for the other end of a pipe, and SIGTERM did not reach it
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        # ENXIO is for a socket, and for a FIFO without a reader: neither is a regular file
        if error.errno != errno.ENXIO:
            raise
    else:
        mode = os.fstat(descriptor).st_mode
        if wanted(mode):
            # Opening alone must not wait: reading and writing may
            os.set_blocking(descriptor, True)
            return descriptor
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


logger = logging.getLogger(__name__)

Buffer = bytes | bytearray | memoryview


class Disk:
    """Every change that our own code makes to a file goes through one of these methods."""

    waited = 0.0  # seconds that the main thread, which runs the event loop, has spent in `waiting`
    clock = staticmethod(time.perf_counter)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Add the time of the block, which waits for the disk, to `waited`, if it is the main
        thread's.

        Nested blocks count once.
        """
        before = self.waited
        begun = self.clock()
        try:
            yield
        finally:
            # Waits of other threads do not hold up the crawl
            if threading.get_ident() == threading.main_thread().ident:
                self.waited = before + self.clock() - begun

    def create(self, path: Path, mode: int = 0o644) -> int:
        """Open a new, empty file for reading and writing.

        Raise FileExistsError if there is one: it may be the user's.
        """
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)

    def append(self, path: Path) -> int:
        """Open a file for appending; create it if it does not exist."""
        return to_append(path, os.O_RDWR)

    def write(self, fd: int, data: Buffer) -> None:
        """Write all of `data`: a write ended early by the kernel (full disk, signal) is continued."""
        rest = memoryview(data)
        written = os.write(fd, rest)
        while written < rest.nbytes:
            rest = rest.cast("B")[written:]
            written = os.write(fd, rest)

    def sync(self, fd: int) -> None:
        os.fsync(fd)

    def let_go(self, fd: int) -> None:
        """Tell the kernel to start writing this file out and to drop it from the page cache.

        It will not be read soon.
        """
        with contextlib.suppress(OSError):  # it is only advice
            drop_from_cache(fd)

    def make_private(self, path: Path) -> None:
        """Take a file away from all but its owner."""
        path.chmod(0o600)

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def truncate_file(self, path: Path, length: int) -> None:
        """Truncate a file to this length, on the disk too."""
        fd = self.append(path)
        try:
            self.truncate(fd, length)
            self.sync(fd)
        finally:
            os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        old.replace(new)
        # The name is in the folder: a power cut before this sync takes it back
        self.sync_folder(new.parent)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Sync a folder's entries: without this a synced file may be gone after a power cut."""
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


class Appender:
    """Appends to an open file all of some bytes, or nothing: what a failed write has left of them
    is removed.
    """

    def __init__(self, disk: Disk, fd: int, length: int, *, may_be_torn: bool = False) -> None:
        """`length`: the bytes that count.

        `may_be_torn`: others behind them are a former run's, and are removed.
        """
        self._disk = disk
        self.fd = fd
        self.length = length
        self._may_be_torn = may_be_torn

    def append(self, data: bytes) -> None:
        """Append all of the data, or nothing.

        Raise OSError if the disk does not take all of it; what it took is removed now or before the
        next write.
        """
        self.drop_torn_end()
        self._may_be_torn = True
        try:
            self._disk.write(self.fd, data)
        except OSError:
            # the next write tries again, and so does the next run
            with contextlib.suppress(OSError):
                self.drop_torn_end()
            raise
        self.length += len(data)
        self._may_be_torn = False

    def drop_torn_end(self) -> None:
        """Remove what may be behind the last whole write."""
        if self._may_be_torn and os.fstat(self.fd).st_size > self.length:
            self._disk.truncate(self.fd, self.length)
        self._may_be_torn = False


@contextlib.contextmanager
def replacing(disk: Disk, path: Path, mode: int = 0o644) -> Iterator[int]:
    """Yield a new file to write to, `NAME.new`, which gets its name when it is whole and synced.

    After an error, a kill or a power cut the file is the old or the new one, never a piece.
    """
    new = path.with_name(f"{path.name}.new")
    # A process that was killed here has left one
    disk.unlink(new)
    fd = disk.create(new, mode)
    try:
        try:
            yield fd
            # The sync is before the rename: else a power cut may leave an empty file of this name
            disk.sync(fd)
        finally:
            os.close(fd)
        disk.rename(new, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to report
            disk.unlink(new)
        raise


def rewrite(path: Path, data: bytes) -> None:
    """Replace a file that is written often, so that no reader sees half of it.

    After a power cut the file may be empty. An attempt that fails leaves the old one, and
    `NAME.new`, which the next attempt removes.
    """
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    # "x" follows no link that another user has put there
    with new.open("xb") as file:
        file.write(data)
    # There is no sync: the crawl would wait for it
    new.replace(path)


def remove_unnamed(disk: Disk, path: Path) -> None:
    """Remove a file that no checkpoint names. If that fails, the next start tries again."""
    try:
        disk.unlink(path)
    except OSError as error:
        logger.warning("%s: could not be removed: %s", path, error)
