"""The crawl's SQLite file. Its open transaction holds all work since the last checkpoint.

COMMIT is the checkpoint, a crash is a rollback. docs/on-disk.md describes the tables.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from webcrawl.base.errors import words_of
from webcrawl.store import rowcrc
from webcrawl.store.disk import Disk, remove_unnamed
from webcrawl.store.errors import DamagedFile, StateLocked, StoreError
from webcrawl.store.lock import Lock, Presence
from webcrawl.store.schema import (
    OPTIONAL_TABLES,
    begin,
    check_header,
    connect,
    create,
    head_of,
    keep_private,
)
from webcrawl.store.worker import Worker
from webcrawl.store.write_ahead_log import LIMIT, WriteAheadLog, check_files, files

DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
SET = "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)"
SHORT_PASS = 0.5  # seconds of a pass ahead of a checkpoint in which little changes
# the latter when SQLite's message quotes damaged bytes
ERRORS = (sqlite3.Error, UnicodeDecodeError)


def is_damage(error: BaseException) -> bool:
    """Return whether one of ERRORS means that the file is damaged."""
    # Python's own: it has no code of SQLite's
    if isinstance(error, UnicodeDecodeError) or "Could not decode to UTF-8" in str(error):
        return True
    # The low byte is the primary code; the others tell its causes apart
    primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, sqlite3.Error) and primary_code in DAMAGE


class Part(Protocol):
    """A structure that is saved with every checkpoint, consistent with all the others.

    A subclass only has to save.
    """

    def prepare(self) -> Iterator[None]:
        """Write ahead of the checkpoint what can be, in slices of a few milliseconds."""
        return iter(())

    def save(self) -> None:
        """Write the rest into the open transaction. COMMIT follows immediately."""


class CrawlDB:
    """Opens and locks a crawl's state folder.

    Readers see the last checkpoint, the owner also what came since.

    The write transaction begins with the opening and again with each COMMIT, so that no other
    process can write. After an error only `close` works: SQLite may have rolled back, so memory and
    disk may disagree. Reopening restores the last checkpoint.
    """

    def __init__(self, folder: Path, disk: Disk | None = None, *, log_limit: int = LIMIT) -> None:
        """Lock the folder, which is made if need be, start the worker, and open or create the
        database.

        Raise StateLocked if another process has it, DamagedFile or StoreError if it cannot be used;
        then nothing stays open. `log_limit`: the bytes beyond which the write-ahead log is
        truncated.
        """
        self.folder = folder
        self.path = folder / "crawl.db"
        self.disk = disk or Disk()
        self._parts: list[Part] = []
        self._discarded: list[Path] = []
        self._failure: BaseException | None = None
        self.presence = Presence()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock: Lock | None = Lock(folder)
        except OSError as error:
            raise self._remember_failure(error) from error
        try:
            self.worker = Worker()  # for all work on files that can be done beside the event loop
            self._db, self._log = self._open(log_limit)
        except BaseException as error:
            self._lock.close()
            self._lock = None
            if isinstance(error, (*ERRORS, OSError)):
                raise self._remember_failure(error) from error
            raise

    def __repr__(self) -> str:
        return f"<CrawlDB {self.path} parts={len(self._parts)} failed={self._failure is not None}>"

    def _open(self, log_limit: int) -> tuple[sqlite3.Connection, WriteAheadLog]:
        """Check or create the database, connect to it, and begin the write transaction.

        Then its files are watched: each must stay at its path. Raise StateLocked if another program
        is writing to it.
        """
        if self.path.exists():
            # Before SQLite opens the file: it might already write to a foreign or truncated
            # database
            check_header(self.path, head_of(self.path))
        else:
            create(self.path, self.disk)
        check_files(self.path)
        keep_private(self.path, self.disk)
        with contextlib.ExitStack() as opened:
            db = opened.enter_context(contextlib.closing(connect(self.path)))
            log = opened.enter_context(
                contextlib.closing(WriteAheadLog(self.path, self.worker, log_limit))
            )
            try:
                # The last run may have left a long log, which SQLite truncates between transactions
                # only
                log.truncate()
                begin(db)
            except sqlite3.Error as error:
                # Another program has opened it for writing: the sqlite3 shell takes no lock of ours
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    raise StateLocked(self.folder) from error
                raise
            opened.pop_all()
        # By now SQLite has made its log and its index
        for path in (self.folder, self.path, *files(self.path)):
            self.presence.add(path)
        return db, log

    def own(self, folder: Path) -> None:
        """Lock another folder of the crawl, which must stay in its place until the crawl ends."""
        if self._lock is not None:
            try:
                self._lock.add(folder)
            except OSError as error:
                raise self._remember_failure(error) from error
        self.presence.add(folder)

    def _begin_transaction(self) -> None:
        self._log.truncate()
        begin(self._db)

    # -- reading and writing in the open transaction

    def query(self, sql: str, args: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of this SELECT, including uncommitted ones."""
        if self._failure is not None:
            raise self._refusal_after(self._failure)
        try:
            return self._db.execute(sql, args).fetchall()
        except ERRORS as error:
            raise self._remember_failure(error) from error

    def execute(self, sql: str, args: Sequence[Any] = ()) -> None:
        """Make one change in the open transaction."""
        self._run_change(self._db.execute, sql, args)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Make the same change for many rows."""
        self._run_change(self._db.executemany, sql, rows)

    def _run_change(self, run: Callable[[str, Any], object], sql: str, args: object) -> None:
        """Make a change in the open transaction, which is begun if the last COMMIT could not do
        that.

        After any error, also one of the iterator that gives the rows, only `close` works.
        """
        if self._failure is not None:
            raise self._refusal_after(self._failure)
        try:
            if not self._db.in_transaction:
                self._begin_transaction()
            run(sql, args)
        except (sqlite3.Error, OSError) as error:
            raise self._remember_failure(error) from error
        except BaseException as error:
            # Raised by the `rows` iterator: some rows are already written
            self._failure = error
            raise

    def need(self, *names: str) -> None:
        """Make these tables and indexes, which not every crawl has, unless they are there."""
        for name in names:
            if not self.query("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)):
                self.execute(OPTIONAL_TABLES[name])

    def get(self, name: str) -> bytes | None:
        """Return the small value stored under this name, or None."""
        values = self._values("name = ?", name)
        return values[0][1] if values else None

    def named(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return all small values whose names start with `prefix`, as (name, value)."""
        return self._values("name GLOB ?", f"{prefix}*")

    def between(self, first: str, end: str) -> list[tuple[str, bytes]]:
        """Return the small values whose names are `first` or later, but before `end`, as (name,
        value), by name.
        """
        return self._values("name >= ? AND name < ? ORDER BY name", first, end)

    def _values(self, where: str, *names: str) -> list[tuple[str, bytes]]:
        rows = self.query(f"SELECT name, value, crc FROM meta WHERE {where}", names)
        for row in rows:
            if not rowcrc.agrees(rowcrc.meta, row):
                raise DamagedFile(self.path, 0, f"table meta, {row[0]}: wrong checksum")
        return [(name, value) for name, value, _ in rows]

    def set(self, name: str, value: bytes) -> None:
        self.execute(SET, (name, value, rowcrc.meta(name, value)))

    def set_all(self, values: Iterable[tuple[str, bytes]]) -> None:
        """Store many small values, as (name, value)."""
        self.executemany(SET, ((name, value, rowcrc.meta(name, value)) for name, value in values))

    def delete(self, first: str, end: str) -> None:
        """Remove the small values that `between` would give."""
        self.execute("DELETE FROM meta WHERE name >= ? AND name < ?", (first, end))

    def _remember_failure(self, error: BaseException) -> StoreError:
        self._failure = error
        if is_damage(error):
            return DamagedFile(self.path, 0, str(error))
        why = words_of(error)
        # Of a full disk SQLite says only "disk I/O error" if it cannot make this file.
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
            why = f"{why}: no room for {self.path.name}-shm"
        return StoreError(f"{self.path}: {why}")

    def _refusal_after(self, failure: BaseException) -> StoreError:
        refusal = StoreError(
            f"{self.path}: cannot be used after an earlier error: {words_of(failure)}"
        )
        refusal.__cause__ = failure
        return refusal

    # -- the checkpoint

    def join(self, part: Part, *, first: bool = False) -> None:
        """Save `part` with every following checkpoint.

        `first`: before all others, because it may feed them.
        """
        self._parts.insert(0 if first else len(self._parts), part)

    def discard(self, path: Path) -> None:
        """Remove a file after the next checkpoint, which no longer names it. It may be gone."""
        self.presence.forget(path)
        self._discarded.append(path)

    def prepare(self, *, once: bool = False) -> Iterator[None]:
        """Do all that can be done ahead of a checkpoint, in slices; then sync the log in a thread.

        Changes meanwhile are left to `checkpoint`, in one turn of the event loop. So a pass that
        took long is repeated, as long as each takes less than half of the time of the one before.
        `once`: it is not repeated, because nothing changes any more.
        """
        seconds_before = float("inf")
        while True:
            begun = time.monotonic()
            for part in self._parts:
                yield from part.prepare()
            yield from self._log.sync_ahead()
            seconds = time.monotonic() - begun
            # With 10,000 queues, repeated passes leave 25 ms of CPU to `checkpoint`, one leaves 51
            is_worth_another = SHORT_PASS < seconds < seconds_before / 2
            if once or not is_worth_another:
                return
            seconds_before = seconds

    def checkpoint(self) -> None:
        """Save all parts and COMMIT: make all work since the last checkpoint durable.

        Then discarded files are removed, and the next transaction begins. If it raises, the last
        checkpoint stays in force, and only `close` works.
        """
        if self._failure is not None:
            raise self._refusal_after(self._failure)
        try:
            with self.disk.waiting():
                for part in self._parts:
                    part.save()
                # what is copied into an emptied one is lost
                self.presence.lengthen(self.path, self._log.copied)
                # The check is last: writing to a file that was moved or removed seems to succeed
                self.presence.check()
                # In a thread, each part that acts on a checkpoint would have to know which changes
                # it includes. With a page cache of 8 MiB a COMMIT takes 14 ms of CPU
                if self._db.in_transaction:
                    self._db.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            # There is no second try: the kernel reports a failed sync once, and a further sync
            # would succeed without the bytes being on the disk
            raise self._remember_failure(error) from error
        except BaseException as error:
            # raised by a part, or already recorded as the database's failure
            self._failure = self._failure or error
            raise
        # A crash until here goes back to the checkpoint that names these files
        self._remove_discarded()
        # SQLite can begin its log anew only between two transactions: a long log is truncated
        # first, by `go_on` or with the next change
        if not self._log.is_long:
            self._log.copy_back()
            self._try_to_begin()

    def go_on(self) -> Iterator[None]:
        """Shorten a log that is too long, in slices.

        Call it after a checkpoint, or the next change waits for it.
        """
        yield from self._log.truncate_ahead()
        self._try_to_begin()

    def _try_to_begin(self) -> None:
        """Begin the next transaction, unless it is open. If that fails, the next change tries
        again.
        """
        if not self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._begin_transaction()

    def _remove_discarded(self) -> None:
        """Remove the files that a checkpoint no longer names; a failure does not affect it.

        A file that no checkpoint names is removed at the next start.
        """
        for path in self._discarded:
            remove_unnamed(self.disk, path)
        self._discarded.clear()

    def close(self) -> None:
        """End the worker and close all files, without a COMMIT: work since the last checkpoint is
        lost.

        A second call does nothing.
        """
        lock, self._lock = self._lock, None
        if lock is None:
            return
        for path in files(self.path):
            self.presence.forget(path)  # SQLite removes them with the last connection
        with contextlib.ExitStack() as rest:
            # In reverse, and each even if another fails: the lock is given back last
            rest.callback(lock.close)
            rest.callback(self._log.close)
            rest.callback(self._db.close)
            rest.callback(self.worker.close)
            self._log.wait()


class SavedValue:
    """A value of the table `meta` that is written only when it has changed, and not before there is
    anything in it.
    """

    def __init__(self, db: CrawlDB, name: str) -> None:
        self._db = db
        self._name = name
        self.data = db.get(name)  # as it was written last; None: never

    def save(self, data: bytes, *, is_empty: bool = False) -> None:
        """Write the value with the checkpoint that is being taken."""
        is_needless = is_empty and self.data is None
        if is_needless or data == self.data:
            return
        self._db.set(self._name, data)
        self.data = data
