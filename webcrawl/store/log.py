"""SQLite's write-ahead log, kept short and synced without making the crawl wait."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

logger = logging.getLogger(__name__)

LIMIT = 256 << 20  # bytes; beyond it the next transaction waits until all is copied back, and begins the log anew


class Log:
    """The file `crawl.db-wal`: COMMIT appends to it, this class does what else it needs in threads.

    SQLite begins it anew when a transaction starts after all of it was copied back. A transaction that is open from
    checkpoint to checkpoint always starts too early for that, hence `make_room`.
    """

    def __init__(self, database: Path, limit: int = LIMIT) -> None:
        self._database, self._limit = database, limit
        self._path = Path(f"{database}-wal")
        self._copying: threading.Thread | None = None

    def __len__(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def __repr__(self) -> str:
        return f"<Log {self._path} {len(self)} bytes of {self._limit}>"

    def sync_ahead(self) -> Iterator[None]:
        """Most of what a COMMIT must sync is synced before the event loop has to stand still for it."""
        syncing = threading.Thread(target=self._sync, name="sync-ahead", daemon=True)
        syncing.start()
        while syncing.is_alive():
            yield

    def _sync(self) -> None:
        with contextlib.suppress(OSError):  # COMMIT syncs again through SQLite's own descriptor, and its failure counts
            fd = os.open(self._path, os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def copy_back(self) -> None:
        """Begins to copy what is committed into the database, unless that is still going on."""
        if self._copying is None or not self._copying.is_alive():
            self._copying = threading.Thread(target=self._copy, name="copy-back", daemon=True)
            self._copying.start()

    def make_room(self) -> None:
        """Before a transaction begins: a log that is too long is copied back to the end, so that it begins anew."""
        if len(self) > self._limit:
            self.wait()
            self._copy()  # the thread may have begun before the last COMMIT; if not, nothing is left to copy

    def wait(self) -> None:
        """Until no copying goes on."""
        if self._copying is not None:
            self._copying.join()

    def _copy(self) -> None:
        """Failing here loses nothing: the log stays as it is."""
        try:
            with contextlib.closing(sqlite3.connect(self._database, timeout=60)) as db:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            logger.warning("%s: the log was not copied back: %s", self._database, error)
