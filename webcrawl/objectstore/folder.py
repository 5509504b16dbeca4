"""A folder of this machine, or of a disk that is mounted on it: `file:///mnt/archive`. It needs no package."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterator
from pathlib import Path

from webcrawl.objectstore.place import PIECE
from webcrawl.store.disk import Disk, remove_unnamed
from webcrawl.store.jobdirs import number_of
from webcrawl.store.regular import regular

PART = ".part"  # after the name, while it is written


class Folder:
    """Files get their names when they are whole and synced. The folder itself must exist; of a drone's, the one above.

    If it were created, a disk that is not mounted would go unnoticed, and its files would fill the one below.
    """

    def __init__(self, root: str, disk: Disk | None = None) -> None:
        self._root, self._disk = Path(root), disk or Disk()
        self._mount = self._root if number_of(self._root) is None else self._root.parent

    def __repr__(self) -> str:
        return f"<Folder {self._root}>"

    def size(self, name: str) -> int | None:
        self.look()
        try:
            return (self._root / name).stat().st_size
        except FileNotFoundError:
            return None

    def put(self, name: str, size: int, pieces: Iterator[bytes], *, new: bool) -> None:
        del size
        path = self._root / name
        part = path.with_name(path.name + PART)
        self._make(path.parent)
        fd = self._locked(part)
        try:
            self._disk.truncate(fd, 0)
            for piece in pieces:
                self._disk.write(fd, piece)
            self._disk.sync(fd)
            if new:
                _look_for_others(path)
            self._disk.rename(part, path)
        except BaseException:
            remove_unnamed(self._disk, part)
            raise
        finally:
            os.close(fd)

    def _locked(self, part: Path) -> int:
        """The file to write to, which a killed process may have left. OSError if another crawl writes it now."""
        fd = self._disk.append(part)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.path.samestat(os.fstat(fd), part.stat())
        except BaseException:
            os.close(fd)
            raise
        if not ours:
            os.close(fd)
            raise BlockingIOError(f"{part}: another process has just finished it")
        return fd

    def says(self, name: str) -> str:
        del name
        return ""

    def read(self, name: str) -> Generator[bytes]:
        with regular(self._root / name) as file:
            while piece := file.read(PIECE):
                yield piece

    def remove(self, name: str) -> None:
        self.look()
        self._disk.unlink(self._root / name)

    def look(self) -> None:
        if not self._mount.is_dir():
            raise FileNotFoundError(f"{self._mount}: no such folder; it is not created")

    def _make(self, folder: Path) -> None:
        """Makes the folders below, and syncs what has a new entry."""
        self.look()
        missing = [one for one in (folder, *folder.parents) if self._mount in one.parents and not one.exists()]
        for one in reversed(missing):
            one.mkdir(exist_ok=True)
            self._disk.sync_folder(one.parent)


def _look_for_others(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} was written by somebody else meanwhile")
