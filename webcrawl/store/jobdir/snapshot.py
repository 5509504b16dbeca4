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
from webcrawl.store.schema import HEAD, LATER, LAYOUT, TABLES, check_header
from webcrawl.store.write_ahead_log import check_files


@dataclass(slots=True, eq=False)
class _Shared:
    """The descriptor that all readers of one file share."""

    readers: int = 0
    opened: ExitStack = field(default_factory=ExitStack)


_MUTEX = Lock()
_SHARED: dict[Path, _Shared] = {}


class Descriptors:
    """One reader of a file on which SQLite has locks.

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


PAGE = re.compile(r"\bpage (\d+)")  # in a line of SQLite's own check
PAGE_SIZE = 8192  # bytes of a page of crawl.db
PREFIX = 64  # bytes of a value that are contiguous on its page
# A crawl that is just opening its database recreates the log's index, or removes it with the log.
# For some milliseconds a reader that must not write cannot read.
PATIENCE, PAUSE = 10.0, 0.02  # seconds
# Bytes of a log without frames. If its index has no owner, SQLite does not notice that this log is
# empty, and retries endlessly (3.40, wal.c, walBeginShmUnreliable).
HEADER = 32
SEARCHES = 100  # of whole files: each takes one second per GiB
# The constant header fields of our databases (sqlite.org/fileformat2.html, 1.3); SQLite does not
# check all of them.
FIXED = {
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
        self.path = state / "crawl.db"
        self._log = Path(f"{self.path}-wal")
        self._searches = 0
        self._mapped: dict[Path, mmap] = {}
        self._descriptors = Descriptors(self.path)
        try:
            self._file = self._opened_file()
            self._begin(state)
        except BaseException:
            self._descriptors.close()
            raise

    def _opened_file(self) -> BinaryIO:
        if not self.path.is_file():
            raise DamagedFile(self.path, 0, "not a file")
        return self._descriptors.open()

    def _begin(self, state: Path) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            check_header(self.path, self._head())
            check_files(self.path)
            self._copy: TemporaryDirectory[str] | None = None
            self._still: tuple[int, ...] | None = None
            try:
                self._db = self._open(state)
            except (*ERRORS, FileNotFoundError) as error:
                self._remove_copy()
                if is_damage(error):
                    raise self.damaged(str(error)) from error
                if time.monotonic() > end:
                    raise StoreError(f"{self.path}: {error}") from error
                time.sleep(PAUSE)
            except DamagedFile:
                self._remove_copy()
                raise
            else:
                return

    def _head(self) -> bytes:
        return os.pread(self._file.fileno(), HEAD, 0)

    def _open(self, state: Path) -> sqlite3.Connection:
        path, how = self._way_to_read(state)
        uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&{how}"
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
        """Return the database to open, and SQLite's parameters for it."""
        if needs_copy(state):
            self._copy = TemporaryDirectory(prefix="webcrawl-verify-")
            for file in (self.path, self._log):
                shutil.copyfile(file, Path(self._copy.name) / file.name)
            return Path(self._copy.name) / self.path.name, ""
        has_log = self._log.exists() and (state / "crawl.db-shm").exists()
        if not has_log or self._has_no_frames():
            # SQLite takes no lock then, so a crawl that starts is noticed by `check_still` alone
            self._still = self._stamp()
            return self.path, "immutable=1"
        return self.path, "readonly_shm=1"

    def _has_no_frames(self) -> bool:
        """Return whether the log is only a header and stays so.

        In a running crawl it is that for an instant after a cut.
        """
        if self._log.stat().st_size != HEADER:
            return False
        time.sleep(PAUSE)
        return self._log.stat().st_size == HEADER

    def _check_layout(self, db: sqlite3.Connection) -> None:
        """Check the definitions of the tables: others would change what is read."""
        found = set(db.execute(LAYOUT))
        with closing(sqlite3.connect(":memory:")) as made:
            made.executescript(TABLES)
            needed = set(made.execute(LAYOUT))
            made.executescript(";".join(LATER.values()))
            possible = set(made.execute(LAYOUT))
        odd = (needed - found) | (found - possible)
        if odd:
            name = min(str(row[1]) for row in odd)
            raise self.damaged(
                f"table sqlite_schema, {name}: differs from the definition in this version"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stamp(self) -> tuple[int, ...]:
        about = self.path.stat()
        log = self._log.stat().st_size if self._log.exists() else 0
        return about.st_ino, about.st_size, about.st_mtime_ns, log

    def check_still(self) -> None:
        """Raise Changed if what was read without a lock may be a mixture of old and new."""
        if self._still is not None and self._stamp() != self._still:
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
        """Return damage at this offset, or at the bytes of this value if they are found."""
        self._searches += 1
        if isinstance(value, bytes) and value and self._searches <= SEARCHES:
            # The log first, from its end: it has the newest state of a page
            for path in (self._log, self.path):
                at = self._last_place(path, value[:PREFIX])
                if at >= 0:
                    return DamagedFile(path, at, why)
        return DamagedFile(self.path, offset, why)

    def _last_place(self, path: Path, data: bytes) -> int:
        """Return the last place at which the file has these bytes."""
        try:
            # Bytes that are added to it later are not of this checkpoint
            if path not in self._mapped:
                self._mapped[path] = self._descriptors.mapped(path)
            return self._mapped[path].rfind(data)
        except (OSError, ValueError):  # missing or empty
            return -1

    def check_head(self) -> Iterator[DamagedFile]:
        """Check the header's constant fields."""
        head = self._head()
        for at, fixed in FIXED.items():
            if head[at : at + len(fixed)] != fixed:
                yield self.damaged(
                    f"header: {head[at : at + len(fixed)].hex()} instead of {fixed.hex()}", at
                )

    def check(self) -> Iterator[DamagedFile]:
        """Check the header, then every page with SQLite's integrity check."""
        yield from self.check_head()
        for (text,) in self.rows("PRAGMA integrity_check"):
            for line in text.splitlines():
                # A line with asterisks is the heading of those that follow
                if line == "ok" or line.startswith("***"):
                    continue
                pages = PAGE.findall(line)
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
