"""The records of owners' wishes in a crawl's state: those given by command, and those of the exclusion file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import msgpack

from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.filters.exclusion import ExclusionFilter
from webcrawl.urls.filters.protocol import UrlFilter
from webcrawl.urls.optout import OptOut, unpacked

COMMANDED, OF_FILE = "opt-outs", "opt-outs/file"


class State(Protocol):
    """Where values lie by name: a crawl's state, open or as of its last checkpoint."""

    def get(self, name: str, /) -> bytes | None: ...


def saved_optouts(state: State, excluded: Sequence[str]) -> list[OptOut]:
    """All records as of the last checkpoint; `excluded`: the rules of `commands in force`."""
    return [*_commanded(state, excluded), *_unpacked(state.get(OF_FILE))]


def _commanded(state: State, excluded: Sequence[str]) -> list[OptOut]:
    """A version that has no records keeps rules alone: what it took back is gone, what it added is not dated."""
    saved = {one.rule: one for one in _unpacked(state.get(COMMANDED))}
    kept = [one for one in saved.values() if one.until or one.rule in excluded]
    return [*kept, *(OptOut(rule) for rule in excluded if rule not in saved)]


def _unpacked(data: bytes | None) -> list[OptOut]:
    return [] if data is None else unpacked(msgpack.unpackb(data))


class SavedOptOuts:
    """Those given by command, for whoever has them in force."""

    def __init__(self, db: CrawlDB) -> None:
        self._db, self._saved = db, db.get(COMMANDED)

    def commanded(self, excluded: Sequence[str]) -> list[OptOut]:
        return _commanded(self._db, excluded)

    def save(self, records: Sequence[OptOut]) -> None:
        """With the checkpoint that is being taken."""
        data = bytes(msgpack.packb([one.pack() for one in records]))
        if data != self._saved and (records or self._saved is not None):
            self._db.set(COMMANDED, data)
            self._saved = data


class FileOptOuts:
    """Those of the exclusion file that is in force, a part of the checkpoint. A line that is gone has no record.

    `filters`: those in force now. A rule is dated when its line is read first, unless the line says more.
    """

    def __init__(self, db: CrawlDB, filters: Callable[[], Sequence[UrlFilter]]) -> None:
        self._db, self._filters = db, filters
        self._saved = db.get(OF_FILE)
        self._known: Sequence[OptOut] = _unpacked(self._saved)
        self._kept: Sequence[OptOut] = self._known  # as of the last checkpoint
        self._text: str | None = None  # not looked at
        db.join(self)

    def __repr__(self) -> str:
        return f"<FileOptOuts {len(self._known)}>"

    def records(self) -> Sequence[OptOut]:
        """As of the last time that the crawl has read the file."""
        file = next((one for one in self._filters() if isinstance(one, ExclusionFilter)), None)
        text = file.text if file is not None else ""
        if text is not self._text:
            since = {one.rule: one.since for one in self._known}
            found = file.records() if file is not None else []
            now = file.read_at if file is not None else 0.0
            self._known = [one if one.since else replace(one, since=since.get(one.rule, now)) for one in found]
            self._text = text
        return self._known

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        records = self.records()
        if records is self._kept:
            return
        self._kept = records
        data = bytes(msgpack.packb([one.pack() for one in records]))
        if data != self._saved and (records or self._saved is not None):
            self._db.set(OF_FILE, data)
            self._saved = data
