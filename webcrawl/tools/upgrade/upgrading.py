"""Brings the state of a crawl up to date in one SQLite transaction: a kill leaves the old one or the new one."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgpack
import zstandard

from webcrawl.base.errors import words_of
from webcrawl.base.readable import count
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.lock import Lock
from webcrawl.store.schema import VERSION, check_owner, connect, head_of, keep_private, versions_of
from webcrawl.tools.upgrade import from_4

Step = Callable[[sqlite3.Connection], Mapping[str, int]]
STEPS: dict[int, Step] = {4: from_4.migrate}  # what makes the next version of each
ROOM = 3  # times the database: its log has every page once more, and is then copied back
LEAST = 64 << 20  # bytes besides
MISFITS = (ValueError, TypeError, KeyError, IndexError, struct.error, zstandard.ZstdError, msgpack.UnpackException)


class NoUpgrade(StoreError):  # noqa: N818 - reads as what it is
    """The state stays as it is; the message is one line that says why."""


def upgrade(
    jobdir: Path,
    *,
    to: int = VERSION,
    steps: Mapping[int, Step] | None = None,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
) -> Iterator[str]:
    """A line for each step that was taken, none if there was nothing to do. StoreError; then nothing has changed."""
    steps = STEPS if steps is None else steps
    state = jobdir / "state"
    path = state / "crawl.db"
    JobDir.open(jobdir)
    check_owner(path, head_of(path))
    lock = Lock(state)
    try:
        lock.add(jobdir)
        keep_private(path, Disk())
        with contextlib.closing(connect(path)) as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])  # the header may not know of it yet
            if version > to:
                raise NoUpgrade(versions_of(path, version))
            missing = [one for one in range(version, to) if one not in steps]
            if missing:
                raise NoUpgrade(f"{path}: nothing leads from version {missing[0]} of the state to version {to}")
            if version < to:
                _check_room(path, free)
            for number in range(version, to):
                yield _taken(db, path, number, steps[number])
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
    finally:
        lock.close()


def _taken(db: sqlite3.Connection, path: Path, version: int, step: Step) -> str:
    db.execute("BEGIN IMMEDIATE")
    try:
        found = step(db)
        db.execute(f"PRAGMA user_version = {version + 1}")
        db.execute("COMMIT")
    except MISFITS as error:
        db.execute("ROLLBACK")
        raise DamagedFile(path, 0, words_of(error)) from error
    done = ", ".join(count(number, what) for what, number in found.items() if number)
    return f"version {version} became version {version + 1}: {done or 'nothing to rewrite'}"


def _check_room(path: Path, free: Callable[[Path], int]) -> None:
    log = Path(f"{path}-wal")
    size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
    needed, there = ROOM * size + LEAST, free(path.parent)
    if there < needed:
        raise NoUpgrade(f"{path}: {needed >> 20} MiB have to be free for this, {there >> 20} MiB are")
