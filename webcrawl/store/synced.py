"""A file of lines that outlives everything: written at once, synced soon, never cut back, no part of the checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError


class SyncedLog:
    """What was written survives kill -9, and what was synced a power cut."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk, self._path = disk, path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = disk.append(path)
            size = os.fstat(self._fd).st_size
            if size and os.pread(self._fd, 1, size - 1) != b"\n":  # a power cut, or a full disk
                disk.write(self._fd, b"\n")
        except OSError as error:
            raise StoreError(f"{path}: {error}") from error

    def __repr__(self) -> str:
        return f"<SyncedLog {self._path}>"

    def write(self, line: bytes) -> None:
        """Appends the line now."""
        try:
            self._disk.write(self._fd, line)
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error

    def sync(self) -> None:
        """Makes what was written survive a power cut."""
        try:
            self._disk.sync(self._fd)
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error

    def close(self) -> None:
        os.close(self._fd)
