"""Reads crawl.db as of the last checkpoint, without changing a byte.

docs/verify-move-upgrade.md, "Check a crawl", has the reasons.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, BinaryIO, NoReturn, Self
from urllib.parse import quote

from webcrawl.store.crawldb import ERRORS, CrawlDB, Part, is_damage
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.schema import HEAD, LAYOUT, OPTIONAL_TABLES, TABLES, check_header
from webcrawl.store.write_ahead_log import check_files


@dataclass(slots=True, eq=False)
class _Shared:
    """What all readers of one file in this process have opened; closed with the last of them."""

    readers: int = 0
    opened: ExitStack = field(default_factory=ExitStack)


_MUTEX = Lock()  # for all _SHARED
_SHARED: dict[Path, _Shared] = {}  # by the file with SQLite's locks


class Descriptors:
    """One reader of a file on which SQLite has locks: it opens files that must stay open for a while.

    It is made before SQLite opens the file, and closed after SQLite has closed it.

    Closing any descriptor of a file gives up all locks of the process on it (POSIX), and with them
    the checkpoint that is being read. So they stay open until the last reader of this process ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _MUTEX:
            self._shared = _SHARED.setdefault(path, _Shared())
            self._shared.readers += 1

    def open(self) -> BinaryIO:
        return self._shared.opened.enter_context(regular(self._path))

    def mapped(self, path: Path) -> mmap:
        """Map this file or another into memory, and keep it mapped until this process has no reader
        of the file open.
        """
        file = self._shared.opened.enter_context(regular(path))
        return self._shared.opened.enter_context(mmap(file.fileno(), 0, access=ACCESS_READ))

    def close(self) -> None:
        with _MUTEX:
            self._shared.readers -= 1
            if not self._shared.readers:
                del _SHARED[self._path]
                self._shared.opened.close()


PAGE_NUMBER = re.compile(r"\bpage (\d+)")  # in a line of SQLite's own check
PAGE_SIZE = 8192  # bytes of a page of crawl.db
CONTIGUOUS = 64  # bytes at the beginning of a value that are surely together on its page
# A crawl that is just opening its database recreates the log's index, or removes it with the log.
# For some milliseconds a reader that must not write cannot read.
OPENING_SECONDS, PAUSE_SECONDS = 10.0, 0.02
# Bytes of a log without frames. If its index has no owner, SQLite does not notice that this log is
# empty, and retries endlessly (3.40, wal.c, walBeginShmUnreliable).
LOG_HEADER_BYTES = 32
MAX_SEARCHES = 100  # of whole files: each takes one second per GiB
# The constant header fields of our databases (sqlite.org/fileformat2.html, 1.3); SQLite does not
# check all of them. Offset -> bytes
CONSTANT_FIELDS = {
    # page size, WAL for writer and reader, nothing reserved, fractions
    16: bytes.fromhex("2000 02 02 00 40 20 20"),
    44: (4).to_bytes(4, "big"),  # schema format
    52: bytes(4),  # no automatic vacuum
    56: (1).to_bytes(4, "big"),  # UTF-8
    64: bytes(4),
    72: bytes(20),
}


class Changed(StoreError):  # noqa: N818 - reads as what it is
    """A crawl was started on files that were at rest when reading began."""


class Snapshot:
    """One open read transaction.

    SQLite must not change anything, so the way to open depends on the files.

    Without a log, or with a log that is only a header, the database is read as it is, provided that
    it stays unchanged. With a log and its index (a running or killed crawl) the index is opened
    read-only; SQLite makes another one in memory if it has no owner. A log without its index, as in
    a careless copy, is read in a copy of both.

    While one is open, its process must not close any other descriptor of crawl.db or of the index:
    see Descriptors.
    """

    def __init__(self, state: Path) -> None:
        """Open the database in a crawl's state folder, which may have to be tried for a while."""
        self.path = state / "crawl.db"
        self._log = Path(f"{self.path}-wal")
        self._searches = 0
        self._mapped: dict[Path, mmap] = {}
        self._copy: TemporaryDirectory[str] | None = None  # of database and log, if one is needed
        self._stamp_before: tuple[int, ...] | None = None  # if the database is read without a lock
        self._descriptors = Descriptors(self.path)
        try:
            self._file = self._opened_file()
            self._open_with_patience(state)
        except BaseException:
            self._descriptors.close()
            raise

    def _opened_file(self) -> BinaryIO:
        if not self.path.is_file():
            raise DamagedFile(self.path, 0, "not a file")
        return self._descriptors.open()

    def _open_with_patience(self, state: Path) -> None:
        """Check the files, and begin the transaction; try again while a crawl is just starting.

        Raise DamagedFile, or StoreError if it cannot be begun in OPENING_SECONDS.
        """
        deadline = time.monotonic() + OPENING_SECONDS
        while True:
            check_header(self.path, self._head())
            check_files(self.path)
            # Of the last attempt
            self._copy = self._stamp_before = None
            try:
                self._db = self._begin_transaction(state)
            except (*ERRORS, FileNotFoundError) as error:
                self._remove_copy()
                if is_damage(error):
                    raise self.damaged(str(error)) from error
                if time.monotonic() > deadline:
                    raise StoreError(f"{self.path}: {error}") from error
                time.sleep(PAUSE_SECONDS)
            except DamagedFile:
                self._remove_copy()
                raise
            else:
                return

    def _head(self) -> bytes:
        return os.pread(self._file.fileno(), HEAD, 0)

    def _begin_transaction(self, state: Path) -> sqlite3.Connection:
        """Open the database in the way that the files demand, and begin the transaction.

        Raise DamagedFile if its tables are not those of this version.
        """
        path, parameters = self._way_to_read(state)
        uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&{parameters}"
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
        try:
            db.execute("PRAGMA temp_store = MEMORY")
            # One transaction: all that is read is of the same checkpoint
            db.execute("BEGIN")
            self._check_layout(db)
        except BaseException:
            db.close()
            raise
        return db

    def _way_to_read(self, state: Path) -> tuple[Path, str]:
        """Return the database to open, and SQLite's parameters for it.

        Makes the copy if one is needed, and takes the stamp if the database is read without a lock.
        """
        if needs_copy(state):
            self._copy = TemporaryDirectory(prefix="webcrawl-verify-")
            for file in (self.path, self._log):
                shutil.copyfile(file, Path(self._copy.name) / file.name)
            return Path(self._copy.name) / self.path.name, ""
        has_log = self._log.exists() and (state / "crawl.db-shm").exists()
        if not has_log or self._has_no_frames():
            # SQLite takes no lock then, so a crawl that starts is noticed by `check_still` alone
            self._stamp_before = self._stamp()
            return self.path, "immutable=1"
        return self.path, "readonly_shm=1"

    def _has_no_frames(self) -> bool:
        """Return whether the log is only a header and stays so.

        In a running crawl it is that for an instant after a truncation.
        """
        if self._log.stat().st_size != LOG_HEADER_BYTES:
            return False
        time.sleep(PAUSE_SECONDS)
        return self._log.stat().st_size == LOG_HEADER_BYTES

    def _check_layout(self, db: sqlite3.Connection) -> None:
        """Raise DamagedFile if a table or index is missing, unknown, or defined in another way.

        Rows of such tables would not mean what they mean in this version.
        """
        found = set(db.execute(LAYOUT))
        # SQLite's own text of the definitions, from a database that is made for the comparison
        with closing(sqlite3.connect(":memory:")) as model:
            model.executescript(TABLES)
            needed = set(model.execute(LAYOUT))
            model.executescript(";".join(OPTIONAL_TABLES.values()))
            possible = set(model.execute(LAYOUT))
        differing = (needed - found) | (found - possible)
        if differing:
            name = min(str(row[1]) for row in differing)
            raise self.damaged(
                f"table sqlite_schema, {name}: differs from the definition in this version"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stamp(self) -> tuple[int, ...]:
        """Return numbers that change as soon as a crawl writes to the files."""
        about = self.path.stat()
        log = self._log.stat().st_size if self._log.exists() else 0
        return about.st_ino, about.st_size, about.st_mtime_ns, log

    def check_still(self) -> None:
        """Raise Changed if what was read without a lock may be a mixture of old and new."""
        if self._stamp_before is not None and self._stamp() != self._stamp_before:
            raise Changed(
                f"{self.path.parent}: a crawl started while this command was reading: run the command again"
            )

    def rows(self, sql: str, args: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows of this SELECT, one at a time, in the memory of one."""
        try:
            # Not the cursor itself: it would be closed when iteration stops early, an error once
            # the database is closed.
            yield from iter(self._db.execute(sql, args).fetchone, None)
        except ERRORS as error:
            raise self.damaged(f"{error} ({sql})") from error

    def has(self, table: str) -> bool:
        """Return whether the crawl has made a table that not every crawl needs."""
        return bool(list(self.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,))))

    def get(self, name: str) -> bytes | None:
        """Return a value of the table meta."""
        found = list(self.rows("SELECT value FROM meta WHERE name = ?", (name,)))
        return _bytes(found[0][0]) if found else None

    def damaged(self, why: str, offset: int = 0, value: object = None) -> DamagedFile:
        """Return the damage `why`, for the caller to raise or report.

        Its place is where the bytes of `value` are found in the log or the database, otherwise
        `offset` in the database. Only MAX_SEARCHES values are looked for.
        """
        self._searches += 1
        if isinstance(value, bytes) and value and self._searches <= MAX_SEARCHES:
            # The log first, from its end: it has the newest state of a page
            for path in (self._log, self.path):
                found_at = self._last_place(path, value[:CONTIGUOUS])
                if found_at >= 0:
                    return DamagedFile(path, found_at, why)
        return DamagedFile(self.path, offset, why)

    def _last_place(self, path: Path, data: bytes) -> int:
        """Return the last offset at which the file has these bytes; -1 if there is none."""
        try:
            # Bytes that are added to it later are not of this checkpoint
            if path not in self._mapped:
                self._mapped[path] = self._descriptors.mapped(path)
            return self._mapped[path].rfind(data)
        except (OSError, ValueError):  # missing or empty
            return -1

    def check_head(self) -> Iterator[DamagedFile]:
        """Yield each constant field of the header that has another value."""
        head = self._head()
        for offset, constant in CONSTANT_FIELDS.items():
            field = head[offset : offset + len(constant)]
            if field != constant:
                yield self.damaged(f"header: {field.hex()} instead of {constant.hex()}", offset)

    def check(self) -> Iterator[DamagedFile]:
        """Yield the damages of the header, then those that SQLite's integrity check of all pages finds.

        Their places are the beginnings of the pages that SQLite names.
        """
        yield from self.check_head()
        for (text,) in self.rows("PRAGMA integrity_check"):
            for line in text.splitlines():
                # A line with asterisks is the heading of those that follow
                is_no_damage = line == "ok" or line.startswith("***")
                if is_no_damage:
                    continue
                pages = PAGE_NUMBER.findall(line)
                yield self.damaged(line, (int(pages[-1]) - 1) * PAGE_SIZE if pages else 0)

    def close(self) -> None:
        self._db.close()
        self._descriptors.close()
        self._remove_copy()

    def _remove_copy(self) -> None:
        if self._copy is not None:
            self._copy.cleanup()


def needs_copy(state: Path) -> bool:
    """Return whether a log has no index: SQLite opens such a log only where it may write."""
    log = state / "crawl.db-wal"
    return log.exists() and log.stat().st_size > 0 and not (state / "crawl.db-shm").exists()


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


class SavedDB(CrawlDB):
    """A checkpoint for the classes that work on a crawl's database: they read it, and cannot change
    it.

    It takes no lock, and has nothing to save. The caller closes the snapshot.
    """

    def __init__(self, snapshot: Snapshot) -> None:  # CrawlDB's own would open and lock the file
        self._snapshot = snapshot
        self.path = snapshot.path
        self.folder = snapshot.path.parent

    def __repr__(self) -> str:
        return f"<SavedDB {self.path}>"

    def query(self, sql: str, args: Sequence[Any] = ()) -> list[Any]:
        return [*self._snapshot.rows(sql, args)]

    def join(self, part: Part, *, first: bool = False) -> None:
        """Do nothing: there is no further checkpoint."""

    def execute(self, sql: str, _args: Sequence[Any] = ()) -> NoReturn:
        raise StoreError(f"{self.path}: open for reading only: {sql}")

    def executemany(self, sql: str, _rows: Iterable[Sequence[Any]]) -> NoReturn:
        raise StoreError(f"{self.path}: open for reading only: {sql}")
