"""The key that signs tokens: made once, in JOBDIR, for nobody but who runs the crawl."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from webcrawl.store.disk import Disk

NAME = "optout.key"
SIZE = 32
OTHERS = 0o077  # mode bits by which others than the owner reach a file


class BadSecret(ValueError):  # noqa: N818 - reads as what it is
    """A file that cannot be used, with the reason in a line."""


def secret_of(jobdir: Path, disk: Disk | None = None) -> bytes:
    """The key of this crawl or hive, made if there is none. Raises BadSecret or OSError.

    It has its name when it is whole and on disk: whoever is killed before leaves none.
    """
    disk, path = disk or Disk(), jobdir / NAME
    if not os.path.lexists(path):
        _make(path, disk)
    return _read(path)


def _make(path: Path, disk: Disk) -> None:
    new = path.with_name(f"{NAME}.{secrets.token_hex(4)}")
    descriptor = disk.create(new, 0o600)
    try:
        disk.write(descriptor, secrets.token_bytes(SIZE))
        disk.sync(descriptor)
        with suppress(FileExistsError):  # somebody else's is there by now
            os.link(new, path)
    finally:
        os.close(descriptor)
        disk.unlink(new)
    disk.sync_folder(path.absolute().parent)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO would wait
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) or mode & OTHERS:
            raise BadSecret(f"{path}: must be a file of mode 600, which nobody else may read")
        key = os.read(descriptor, SIZE + 1)
    finally:
        os.close(descriptor)
    if len(key) != SIZE:
        raise BadSecret(f"{path}: has not {SIZE} bytes: remove it, and tokens issued before count no more")
    return key
