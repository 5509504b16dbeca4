"""The schema of crawl.db: creating, recognising and opening it (docs/on-disk.md)."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import struct
from pathlib import Path

from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StateVersion
from webcrawl.store.write_ahead_log import files

logger = logging.getLogger(__name__)

# Version 1 had no checksums of rows, 2 other digests of bodies, 3 no portions, and 4 no chains in
# links, no deferred hosts, and no domains
VERSION = 5
HEAD = 100  # bytes
# permission bits of all but the owner: the seen store's key and the secrets of hubs come from this
# file
OTHERS = 0o077
APPLICATION = 0x5743_524C  # "WCRL", in the header field for the application that owns the file
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE block (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE host (
    name TEXT PRIMARY KEY, state INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX host_in_use ON host (state) WHERE state > 0;
CREATE TABLE domain (
    name TEXT PRIMARY KEY, rank INTEGER NOT NULL, waiting INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX domain_waiting ON domain (rank DESC, name) WHERE waiting > 0;
CREATE TABLE linked (domain INTEGER PRIMARY KEY, sources BLOB NOT NULL);
CREATE TABLE robots (
    origin TEXT PRIMARY KEY, until REAL NOT NULL, rules BLOB NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE waiting (seq INTEGER PRIMARY KEY, keys BLOB NOT NULL, records BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE portion (
    id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, site TEXT NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL,
    crc INTEGER NOT NULL
);
CREATE INDEX portion_turn ON portion (turn);
CREATE INDEX portion_site ON portion (site, turn);
CREATE TABLE run (name TEXT PRIMARY KEY, store TEXT NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE output (
    path TEXT PRIMARY KEY, length INTEGER NOT NULL, bytes_crc INTEGER NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID;
"""
# Tables that a crawl makes when it first needs them: a state is whole with and without each.
OPTIONAL_TABLES = {
    "revisit": "CREATE TABLE revisit (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "ahead": "CREATE TABLE ahead (key INTEGER PRIMARY KEY, since INTEGER NOT NULL, data BLOB NOT NULL,"
    " crc INTEGER NOT NULL)",
    "ahead_since": "CREATE INDEX ahead_since ON ahead (since)",
    "listed": "CREATE TABLE listed (listing INTEGER PRIMARY KEY, count INTEGER NOT NULL, read INTEGER NOT NULL,"
    " keys BLOB NOT NULL, dates BLOB NOT NULL, crc INTEGER NOT NULL)",
    "announcer": "CREATE TABLE announcer (host TEXT PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "rendering": "CREATE TABLE rendering (host TEXT PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "subscription": "CREATE TABLE subscription (token TEXT PRIMARY KEY, topic TEXT NOT NULL, hub TEXT NOT NULL,"
    " page BLOB NOT NULL, site TEXT NOT NULL, state INTEGER NOT NULL, due REAL NOT NULL, until REAL NOT NULL,"
    " tries INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
    "subscription_due": "CREATE INDEX subscription_due ON subscription (due)",
}
LAYOUT = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
# No automatic copying back: it would run inside a COMMIT. A restarted log is truncated, so that its
# size shows how long it has become. The page cache of 8 MiB bounds what a COMMIT has to write; all
# else is written before. With 2 MiB a COMMIT takes up to 89 ms of CPU, because pages that change
# again have their checksums made anew; with 8 MiB 14 ms, with 32 MiB 23.
PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;
PRAGMA journal_size_limit = 0;
PRAGMA cache_size = -8192;
PRAGMA temp_store = MEMORY;
"""


def create(path: Path, disk: Disk) -> None:
    """Create the database with its tables.

    It gets its name when it is whole, so that no incomplete one is taken for a crawl's. Raise
    DamagedFile if a log of a former database is there.
    """
    for log in (Path(f"{path}-wal"), Path(f"{path}-journal")):
        if _has_bytes(log):  # SQLite would replay it into the new file
            raise DamagedFile(log, 0, f"a log was left behind without its {path.name}")
    temporary = path.with_suffix(".new")
    for leftover in (
        temporary,
        *(Path(f"{temporary}{suffix}") for suffix in ("-journal", "-wal", "-shm")),
    ):
        disk.unlink(leftover)
    with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 8192")
        db.executescript(f"BEGIN; {TABLES} COMMIT;")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("PRAGMA journal_mode = WAL")  # now, so that the header records it from the start
    disk.make_private(temporary)  # SQLite gives its log and its index the same mode
    disk.rename(temporary, path)


def keep_private(path: Path, disk: Disk) -> None:
    """Take a database that an earlier version made, its log and its index away from other users."""
    for file in filter(Path.exists, (path, *files(path))):
        is_private = not file.stat().st_mode & OTHERS
        if is_private:
            continue
        try:
            disk.make_private(file)
        except OSError as error:
            logger.warning("%s: other users may read it: %s", file, error.strerror or error)


def head_of(path: Path) -> bytes:
    """Return the header of a database, read without SQLite, which might already write.

    Do not call it while SQLite has the database open.
    """
    if not path.is_file():
        raise DamagedFile(path, 0, "not a file")
    with path.open("rb") as file:
        return file.read(HEAD)


def check_header(path: Path, head: bytes) -> None:
    """Raise an error if this header is not of a whole crawl.db of this version.

    DamagedFile: it is no database of ours, or the file is shorter than the header says;
    StateVersion: it is of another version.
    """
    if len(head) < HEAD or not head.startswith(b"SQLite format 3\0"):
        raise DamagedFile(path, 0, "not a SQLite database")
    (application,) = struct.unpack_from(">I", head, 68)
    if application != APPLICATION:
        raise DamagedFile(path, 68, "another program's database")

    (version,) = struct.unpack_from(">I", head, 60)
    if version != VERSION:
        raise StateVersion(_of_another_version(path, version))
    page_size, page_count = struct.unpack_from(">H10xI", head, 16)
    size = path.stat().st_size
    # SQLite reads the missing end of a last page as zeros. If there is a log, missing pages may
    # still come from it.
    if size < page_size * page_count and not _has_bytes(Path(f"{path}-wal")):
        raise DamagedFile(
            path,
            size,
            f"the file ends early: it should have {page_count} pages of {page_size} bytes",
        )


def _of_another_version(path: Path, version: int) -> str:
    age = "a later" if version > VERSION else "an earlier"
    return f"{path}: written by {age} webcrawl (version {version} of the state, this program reads {VERSION})"


def _has_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def connect(path: Path) -> sqlite3.Connection:
    """Return the owner's connection.

    It reads first, so that a truncated file is refused before any pragma writes to it.
    """
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        db.executescript(PRAGMAS)
    except BaseException:
        db.close()
        raise
    return db


def begin(db: sqlite3.Connection) -> None:
    """Take SQLite's writer lock, which no second process gets either, before anything is changed."""
    db.execute("BEGIN IMMEDIATE")
