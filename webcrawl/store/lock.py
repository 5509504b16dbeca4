"""One process per crawl, and its files at their paths.

Whatever is written to a file that is no longer at its path, or has lost its end, seems to succeed,
and is gone when the file is closed, or belongs to another place: `Presence` notices that.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from stat import S_ISREG

from webcrawl.store.errors import StateLocked, TakenAway

Identity = tuple[int, int]  # device and inode
NO_FILE: Identity = -1, -1
LOCK = "lock"  # the file in each folder that is locked


def identity(file: Path | int) -> Identity | None:
    """Return the identity of a file or folder, given by path or descriptor.

    None if there is none.
    """
    try:
        status = file.stat() if isinstance(file, Path) else os.fstat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Presence:
    """Paths of files and folders that must stay what they are, and become no shorter."""

    def __init__(self) -> None:
        self._expected: dict[Path, Identity] = {}
        self._min_bytes: dict[Path, int] = {}

    def add(self, path: Path, min_bytes: int = 0) -> None:
        """Watch a path, which must lead to what it leads to now; to nothing is wrong already."""
        self._expected[path] = identity(path) or NO_FILE
        self._min_bytes[path] = min_bytes

    def lengthen(self, path: Path, min_bytes: int) -> None:
        """Set the bytes that the file must have."""
        self._min_bytes[path] = min_bytes

    def forget(self, path: Path) -> None:
        self._expected.pop(path, None)
        self._min_bytes.pop(path, None)

    def check(self) -> None:
        """Raise TakenAway if a path leads to another file, or to none, or if its file is too short.

        It takes 1.5 us per path.
        """
        changes: list[tuple[Path, str]] = []
        for path, expected in self._expected.items():
            change = changed(path, self._min_bytes[path], expected)
            if change is not None:
                changes.append((path, change))
        if changes:
            # Paths below a folder that was moved lead nowhere, too: the message names the folder
            raise TakenAway(
                *min(changes, key=lambda path_and_change: len(path_and_change[0].parts))
            )

    def taken_away(self) -> TakenAway | None:
        """Return what `check` raises."""
        try:
            self.check()
        except TakenAway as error:
            return error
        return None


def changed(path: Path, min_bytes: int, expected: Identity | None = None) -> str | None:
    """Return what happened to the file at `path`, in words; None if the file is well.

    It is well if it has at least `min_bytes`, and is the file with the `expected` identity; without
    one any regular file will do.
    """
    try:
        status = path.stat()
    except OSError:
        return "moved or removed"
    present = status.st_dev, status.st_ino
    is_same = S_ISREG(status.st_mode) if expected is None else present == expected
    if not is_same:
        return "replaced"
    return "truncated" if status.st_size < min_bytes else None


# The errors of file systems that lock no folders, as NFS. The lock of the file and SQLite's remain
UNSUPPORTED = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP}


def is_held(folder: Path) -> bool:
    """Return whether a process has the Lock of this folder.

    It creates nothing, and delays no process that takes the lock.
    """
    return any(map(_is_locked, (folder / LOCK, folder)))


def _is_locked(path: Path) -> bool:
    """Return whether another process holds a Lock on this file or folder; False if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared, so that two processes that look do not take each other for a crawl
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(fd)  # which releases it
    return False


class Lock:
    """Advisory locks, held until `close` or the end of the process: on the file `lock`, and on the
    folder around it.

    The file's alone would not do: when the file is removed, the next process makes and locks
    another one.
    """

    def __init__(self, path: Path) -> None:
        self._held: dict[Identity | None, int] = {}
        try:
            self._lock_all(path)
        except BaseException:
            self.close()
            raise

    def _lock_all(self, folder: Path) -> None:
        """Lock the file `lock` in this folder, which is made if need be, and then the folder."""
        self._lock_file(folder / LOCK, os.O_RDWR | os.O_CREAT)
        self.add(folder)

    def __repr__(self) -> str:
        return f"<Lock held={len(self._held)}>"

    def add(self, folder: Path) -> None:
        """Lock another folder of the crawl too, if its file system (not NFS) can lock folders."""
        try:
            self._lock_file(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise

    def _lock_file(self, path: Path, flags: int) -> None:
        """Open and lock the file or folder at `path`, and keep it open; do nothing if it is locked
        by this Lock.

        Raise StateLocked if another process has the lock.
        """
        while True:
            fd = os.open(path, flags | os.O_CLOEXEC, 0o644)
            opened = identity(fd)
            # flock(2) locks per open file: a second descriptor would collide with our own lock
            if opened in self._held:
                os.close(fd)
                return
            self._held[opened] = fd
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                folder = path if flags & os.O_DIRECTORY else path.parent
                raise StateLocked(folder) from error
            # Before the lock was taken, its holder may have removed the file, and a third process
            # may have made and locked a new one at this path: then this lock excludes no process
            if opened == identity(path):
                return
            os.close(self._held.pop(opened))

    def close(self) -> None:
        """Release all. A second call does nothing."""
        while self._held:
            os.close(self._held.popitem()[1])
