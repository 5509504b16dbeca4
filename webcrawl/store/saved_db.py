"""A checkpoint for the classes that work on a crawl's database: they read it, and cannot change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.snapshot import Snapshot


class SavedDB(CrawlDB):
    """Takes no lock, and has nothing to save: a class that only answers questions can be opened on it.

    Whoever made the snapshot closes it.
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
