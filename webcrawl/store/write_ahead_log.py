"""Keeps SQLite's write-ahead log short and synced without blocking the crawl."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

from webcrawl.store.errors import DamagedFile
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

LIMIT = 256 << 20  # bytes; beyond it the log is cut before the next transaction begins


def files(database: Path) -> tuple[Path, Path]:
    """The log of this database, and the log's index."""
    return Path(f"{database}-wal"), Path(f"{database}-shm")


def check_files(database: Path) -> None:
    """Checks that both are files, if they are there: SQLite would wait for the other end of a pipe."""
    for path in files(database):
        if path.exists() and not path.is_file():
            raise DamagedFile(path, 0, "not a file")


class Log:
    """The file `crawl.db-wal`. COMMIT appends to it; syncing and copying back are a worker's jobs.

    Between two transactions SQLite can cut the log when all of it was copied back. Ours are open from checkpoint to
    checkpoint, and the next one begins at once, hence `cut_ahead` and `cut`.
    """

    def __init__(self, database: Path, worker: Worker, limit: int = LIMIT) -> None:
        self._database, self._worker, self._limit = database, worker, limit
        self._path, _ = files(database)
        self._copying: Future[None] | None = None
        # for good: opened anew for each copy, it might find another crawl's files there
        self._db = sqlite3.connect(database, isolation_level=None, check_same_thread=False, timeout=60)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the log, too
        self._db.execute("PRAGMA busy_timeout = 0")  # while somebody reads, it is not cut; nobody waits for that

    def close(self) -> None:
        """Call when the worker has ended. A second call does nothing."""
        self._db.close()

    def __len__(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def sync_ahead(self) -> Iterator[None]:
        """Syncs the log in a thread, so that the COMMIT, which blocks the event loop, has little left to sync."""
        syncing = self._worker.submit(self._sync)
        while not self._worker.done(syncing):
            yield
        syncing.result()

    def _sync(self) -> None:
        with contextlib.suppress(OSError):  # COMMIT syncs again through SQLite's own descriptor; its failure counts
            fd = os.open(self._path, os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def copy_back(self) -> None:
        """Starts copying committed pages into the database, unless a copy is already running."""
        if self._copying is None or self._copying.done():
            self._copying = self._worker.submit(self._copy)

    @property
    def is_long(self) -> bool:
        """True if it is to be cut before the next transaction begins."""
        return len(self) > self._limit

    def cut_ahead(self) -> Iterator[None]:
        """Cuts a log that is too long, in the worker's thread: it does so between two transactions only."""
        if self.is_long:
            cutting = self._worker.submit(self._copy, "TRUNCATE")
            while not self._worker.done(cutting):
                yield

    def cut(self) -> None:
        """Call it before a transaction begins. Waits until a log that is too long is cut."""
        if self.is_long:
            self._worker.result(self._worker.submit(self._copy, "TRUNCATE"))

    def wait(self) -> None:
        """Waits until no copy is running."""
        if self._copying is not None:
            self._worker.result(self._copying)

    def _copy(self, how: str = "PASSIVE") -> None:
        """Failure loses nothing: the log stays as it is."""
        try:
            self._db.execute(f"PRAGMA wal_checkpoint({how})")
        except (sqlite3.Error, MemoryError) as error:
            logger.warning("%s: the log was not copied back: %s", self._database, str(error) or "out of memory")
