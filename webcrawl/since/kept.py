"""What the index of earlier captures was made of: in its folder, beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from webcrawl.store.disk import Disk

FOLDER, FILES = "since", "files.json"  # below the folder of a crawl's state
VERSION = 1


class Sign(NamedTuple):
    """By which it is known whether a file is still the same."""

    path: str
    size: int
    time: int


def sign(path: Path) -> Sign:
    """Of a file that is not there, one that no file has."""
    try:
        status = path.stat()
    except OSError:
        return Sign(str(path), -1, 0)
    return Sign(str(path), status.st_size, status.st_mtime_ns)


def read_kept(folder: Path) -> list[Sign] | None:
    """The files that the index in this folder was made of; None if there is no index, or only half of one."""
    try:
        kept = json.loads((folder / FILES).read_bytes())
        if kept["version"] != VERSION:
            return None
        return [Sign(str(path), int(size), int(time)) for path, size, time in kept["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_kept(disk: Disk, folder: Path, signs: list[Sign]) -> None:
    """The index is whole now."""
    new = folder / f"{FILES}.new"
    disk.unlink(new)
    fd = disk.create(new)
    try:
        disk.write(fd, json.dumps({"version": VERSION, "files": signs}).encode())
        disk.sync(fd)
    finally:
        os.close(fd)
    disk.rename(new, folder / FILES)
