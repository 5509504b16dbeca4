"""The contents of a JOBDIR: a crawl, or a hive of drones with a crawl each (docs/on-disk.md)."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from webcrawl.store.disk import is_there, regular
from webcrawl.store.errors import DamagedFile, StateVersion, StoreError

HIVE = "hive.json"
VERSION = 1
STATE = "state/crawl.db"
LOCKS = Path("/proc/locks")
DRONE = re.compile(r"drone-(0|[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class HiveDrones:
    """The hive of a JOBDIR: those drones that its file names, and any other that has a folder,
    ascending.
    """

    name: str
    drones: tuple[int, ...]


def for_reading(jobdir: Path) -> Path:
    """Return a JOBDIR beside it, for what is made of its archives."""
    named = jobdir.resolve() if jobdir.name in ("", "..") else jobdir
    return named.with_name(f"{named.name}-read")


def crawls_of(jobdir: Path) -> list[Path]:
    """Return the folders of its crawls: itself or, of a hive, each drone's, which may be missing.

    Raise StoreError if hive.json cannot be read.
    """
    hive = hive_of(jobdir)
    return [jobdir] if hive is None else [folder_of(jobdir, drone) for drone in hive.drones]


def absent_drones(jobdir: Path) -> list[Path]:
    """Return the folders of a hive's drones whose crawls have not begun, or are not here.

    A single crawl has none. Raise StoreError if hive.json cannot be read.
    """
    hive = hive_of(jobdir)
    folders = [folder_of(jobdir, drone) for drone in hive.drones] if hive is not None else []
    return [folder for folder in folders if not is_crawl(folder)]


def hive_of(jobdir: Path) -> HiveDrones | None:
    """Return the hive of a JOBDIR; None for a single crawl, and for a folder that is no crawl.

    Raise StoreError if hive.json cannot be read.
    """
    drones_here = _drones_in(jobdir)
    try:
        with regular(jobdir / HIVE) as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        # The folders of drones on many machines may have been copied into one, without hive.json
        has_crawls_of_drones = any(is_crawl(folder_of(jobdir, drone)) for drone in drones_here)
        if is_crawl(jobdir) or not has_crawls_of_drones:
            return None
        return HiveDrones(jobdir.resolve().name, tuple(sorted(drones_here)))
    except OSError as error:
        raise StoreError(f"{jobdir / HIVE}: {error.strerror or error}") from error
    name, drones = _read_hive_file(jobdir / HIVE, data)
    return HiveDrones(name, tuple(sorted(drones_here.union(drones))))


def folder_of(jobdir: Path, drone: int) -> Path:
    return jobdir / f"drone-{drone}"


def number_of(folder: Path) -> int | None:
    """Return the number of the drone whose folder has this name."""
    match = DRONE.fullmatch(folder.name)
    return int(match[1]) if match is not None else None


def is_crawl(folder: Path) -> bool:
    """Return whether a crawl has begun here."""
    return is_there(folder / STATE)


def _drones_in(jobdir: Path) -> set[int]:
    found: set[int] = set()
    if not is_there(jobdir) or not jobdir.is_dir():
        return found
    for path in jobdir.iterdir():
        number = number_of(path)
        if number is not None and path.is_dir():
            found.add(number)
    return found


def _read_hive_file(path: Path, data: bytes) -> tuple[str, list[int]]:
    """Return the name and the drones of a hive, which `data` of its hive.json has.

    Raise DamagedFile if they are missing or wrong, StateVersion if the file is of another version.
    """
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, getattr(error, "pos", 0), str(error)) from error
    if not isinstance(values, dict):
        raise DamagedFile(path, 0, "not a mapping")
    if values.get("version") != VERSION:
        raise StateVersion(
            f"{path}: has version {values.get('version')!r}, but this program reads version {VERSION}"
        )
    name, drones = values.get("name"), values.get("drones")
    if not isinstance(name, str) or not isinstance(drones, list):
        raise DamagedFile(path, 0, "the name or the list of drones is missing")
    # `type`, since true and false are numbers to isinstance
    if not all(type(drone) is int and drone >= 0 for drone in drones):
        raise DamagedFile(path, 0, f"drones = {drones!r}: must be a list of numbers")
    return name, drones


def is_locked(jobdir: Path, locks: Path = LOCKS) -> bool:
    """Return whether a process holds the lock of this crawl, by the system's list of locks.

    False where the system has no such list.
    """
    # To ask for the lock itself is to have it for a moment, in which a crawl cannot start
    try:
        status = (jobdir / "state/lock").stat()
        text = locks.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    # As the kernel writes it
    lock_id = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in text.splitlines():
        fields = line.split()
        # After an arrow comes a process that waits for the lock
        is_waiting = "->" in line
        if not is_waiting and lock_id in fields and "FLOCK" in line:
            return True
    return False
