"""The places of an archive's payloads, so that the revisit records that refer to them can be read.

A URL may have had two states within one second, so a date counts in full; but some programs write the fraction of a
second only in one of the two records, so the whole second counts, too, if nothing surer is known.

A file of its own, in no checkpoint: what it says of the archive stays true, however far the pages are processed. It is
committed before each checkpoint, so it always knows the payloads that come before the place to go on from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from webcrawl.record.archives.archived_answers import is_unmodified
from webcrawl.record.warc.reader import Record
from webcrawl.record.warc.unpacking import Place
from webcrawl.store.errors import StoreError

NAME = "originals.db"
TABLES = """
CREATE TABLE IF NOT EXISTS file (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS original (
    key INTEGER PRIMARY KEY, file INTEGER NOT NULL, at INTEGER NOT NULL, skip INTEGER NOT NULL
);
"""
AT_ONCE = 4096  # places in memory


class Originals:
    """By identifier, by URL and date, and by payload digest: revisit records name any of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._new: dict[int, tuple[int, int, int]] = {}
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._db.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {TABLES}")
                self._names = dict(self._db.execute("SELECT id, name FROM file"))
                self._files = {name: number for number, name in self._names.items()}
            except BaseException:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def add(self, record: Record, name: str) -> None:
        """A record with a payload, which begins here; the name is that of its file, once that is finished."""
        number = self._files.get(name)
        if number is None:
            number = self._files[name] = len(self._files) + 1
            self._names[number] = name
            self._execute("INSERT INTO file VALUES (?, ?)", (number, name))
        where = (number, record.place.offset, record.place.skip)
        names = _Names(record, "warc-record-id", "warc-target-uri", "warc-date")
        for key in (*names.sure, *names.digest, *names.second):
            self._new.setdefault(key, where)
        if len(self._new) >= AT_ONCE:
            self.write()

    def find(self, revisit: Record) -> Iterator[tuple[str, Place]]:
        """Files and places where its original may lie, the surest first (docs/extending.md)."""
        names = _Names(revisit, "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date")
        # The page that a 304 stands for has a head as well: the same payload may have come with another, elsewhere
        rest = (names.second, names.digest) if is_unmodified(revisit) else (names.digest, names.second)
        for key in chain(names.sure, *rest):
            where = self._new.get(key)
            if where is None:
                rows = self._execute("SELECT file, at, skip FROM original WHERE key = ?", (key,)).fetchall()
                where = rows[0] if rows else None
            if where is not None:
                yield self._names[where[0]], Place(where[1], where[2])

    def write(self) -> None:
        """Writes what is in memory; safe on disk when it returns."""
        try:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT OR IGNORE INTO original VALUES (?, ?, ?, ?)", [(key, *to) for key, to in self._new.items()]
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self._new.clear()

    def close(self) -> None:
        self._db.close()

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        if self._new:
            self.write()

    def _execute(self, sql: str, args: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, args)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"{self._path}: {error}")


class _Names:
    """The keys of a record's payload, by the names of the fields that have them: each kind has one at most."""

    def __init__(self, record: Record, identifier: str, address: str, date: str) -> None:
        fields = record.fields
        digest, url, when = (fields.get(name, "") for name in ("warc-payload-digest", address, date))
        self.sure = [_key(fields[identifier])] if fields.get(identifier) else []
        self.digest = [_key(digest)] if digest else []
        self.second = [_key(f"{url.strip('<>')} {when[:19]}")] if url and when else []
        if self.second and "." in when:
            self.sure.append(_key(f"{url.strip('<>')} {when}"))


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True)
