"""One process per crawl."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from webcrawl.store.errors import StateLocked
from webcrawl.store.presence import Identity, identity

UNSUPPORTED = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP}


class Lock:
    """Advisory locks, held until `close` or the end of the process: on the file `lock`, and on the folder around it.

    The file's alone would not do: when the file is removed, the next process makes and locks another one.
    """

    def __init__(self, folder: Path) -> None:
        self._held: dict[Identity | None, int] = {}
        try:
            self._take(folder / "lock", os.O_RDWR | os.O_CREAT)
            self.add(folder)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<Lock held={len(self._held)}>"

    def add(self, folder: Path) -> None:
        """Locks another folder of the crawl too, unless its file system has no locks on folders (NFS)."""
        try:
            self._take(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise

    def _take(self, path: Path, flags: int) -> None:
        """Opens and locks; once more if `path` meanwhile leads to another file than the one that is now locked."""
        while True:
            fd = os.open(path, flags | os.O_CLOEXEC, 0o644)
            here = identity(fd)
            if here in self._held:
                os.close(fd)
                return
            self._held[here] = fd
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                folder = path if flags & os.O_DIRECTORY else path.parent
                raise StateLocked(folder) from error
            if here == identity(path):
                return
            os.close(self._held.pop(here))

    def close(self) -> None:
        """Releases all. A second call does nothing."""
        while self._held:
            os.close(self._held.popitem()[1])
