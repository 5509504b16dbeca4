"""Disks that fail: one at its n-th operation, one that loses what was not synced."""

import errno
import os
from pathlib import Path

from webcrawl.store.disk import Buffer, Disk


class BreakingDisk(Disk):
    """Raises OSError at its `fail_at`-th operation, the first being 1.

    If `for_good`, all later operations fail as well. A failing write writes half of its bytes
    first, as happens on a full disk.
    """

    def __init__(
        self, fail_at: int = 0, error: int = errno.ENOSPC, *, for_good: bool = False
    ) -> None:
        self.fail_at, self.error, self.for_good = fail_at, error, for_good
        self.operations = 0
        self.broken: list[str] = []  # what failed

    def _step(self, what: str) -> None:
        """Count an operation, and raise OSError if it is one that fails."""
        self.operations += 1
        if self.operations == self.fail_at or (
            self.for_good and 0 < self.fail_at <= self.operations
        ):
            self.broken.append(what)
            raise OSError(
                self.error,
                f"{os.strerror(self.error)} (injected at operation {self.operations}: {what})",
            )

    def create(self, path: Path, mode: int = 0o644) -> int:
        self._step(f"create {path.name}")
        return super().create(path, mode)

    def append(self, path: Path) -> int:
        self._step(f"append {path.name}")
        return super().append(path)

    def write(self, fd: int, data: Buffer) -> None:
        try:
            self._step("write")
        except OSError:
            half = memoryview(data).cast("B")
            super().write(fd, half[: len(half) // 2])
            raise
        super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._step("sync")
        super().sync(fd)

    def truncate(self, fd: int, length: int) -> None:
        self._step("truncate")
        super().truncate(fd, length)

    def rename(self, old: Path, new: Path) -> None:
        self._step(f"rename {old.name}")
        super().rename(old, new)

    def unlink(self, path: Path) -> None:
        self._step(f"unlink {path.name}")
        super().unlink(path)

    def sync_folder(self, folder: Path) -> None:
        self._step("sync folder")
        super().sync_folder(folder)


class ForgetfulDisk(Disk):
    """A disk that `crash` can make forget what was not synced.

    Files lose unsynced bytes, and folders unsynced names.
    """

    def __init__(self) -> None:
        self._paths: dict[int, Path] = {}
        self._synced: dict[Path, int] = {}
        self._new: set[Path] = set()
        self._moved: dict[Path, Path] = {}  # new name -> old name
        self._gone: dict[Path, bytes] = {}  # removed name -> the content that comes back

    def _opened(self, fd: int, path: Path, *, known: bool, synced: int) -> int:
        self._paths[fd] = path
        self._synced.setdefault(path, synced)
        if not known:
            self._new.add(path)
        return fd

    def create(self, path: Path, mode: int = 0o644) -> int:
        known = path.exists()
        self._synced[path] = 0
        return self._opened(super().create(path, mode), path, known=known, synced=0)

    def append(self, path: Path) -> int:
        known = path.exists()
        size = path.stat().st_size if known else 0
        return self._opened(super().append(path), path, known=known, synced=size)

    def sync(self, fd: int) -> None:
        super().sync(fd)
        self._synced[self._paths[fd]] = os.fstat(fd).st_size

    def truncate(self, fd: int, length: int) -> None:
        super().truncate(fd, length)
        self._synced[self._paths[fd]] = min(self._synced[self._paths[fd]], length)

    def rename(self, old: Path, new: Path) -> None:
        if old in self._synced:
            self._synced[new] = self._synced.pop(old)
        if old in self._new:  # not synced under any name
            self._new.discard(old)
            self._new.add(new)
        else:
            self._moved[new] = old
        super().rename(old, new)

    def unlink(self, path: Path) -> None:
        if path.exists() and path not in self._new and path not in self._gone:
            self._gone[path] = path.read_bytes()
        super().unlink(path)

    def sync_folder(self, folder: Path) -> None:
        super().sync_folder(folder)
        self._new = {path for path in self._new if path.parent != folder}
        self._moved = {new: old for new, old in self._moved.items() if new.parent != folder}
        self._gone = {path: data for path, data in self._gone.items() if path.parent != folder}

    def crash(self) -> None:
        """Change the files to what a power cut would leave."""
        for path in self._new:
            path.unlink(missing_ok=True)
        for path, data in self._gone.items():
            if not path.exists():
                path.write_bytes(data)
        for new, old in self._moved.items():
            if new.exists():
                self._synced[old] = self._synced.pop(new, new.stat().st_size)
                new.replace(old)
        for path, length in self._synced.items():
            if path.exists() and path.stat().st_size > length:
                os.truncate(path, length)
