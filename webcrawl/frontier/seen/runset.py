"""F on disk: sorted runs of geometrically growing sizes, so that each key is rewritten only a few times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from webcrawl.frontier.seen.files import Names
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Keys, Mask, Run, RunWriter


@dataclass(slots=True)
class Change:
    """The change that a merge made to the runs: it added one that replaces some, or did nothing."""

    added: Run | None = None
    replaced: list[Run] = field(default_factory=list)

    def close(self) -> None:
        """Closes the new run, which will not be adopted."""
        if self.added is not None:
            self.added.close()


class RunSet:
    """The runs of one store, as named in the open transaction. Threads write files; the owner's thread names them."""

    def __init__(self, db: CrawlDB, store: str, columns: int, growth: float) -> None:
        self.runs: list[Run] = []
        self._replaced: list[Run] = []  # replaced since the last checkpoint, which still names them
        self._removed: list[Run] = []  # replaced before it, and removed by it
        self._db, self._store, self._columns, self._growth = db, store, columns, growth
        self.names = Names(db.folder, db.disk, store)
        named = db.query("SELECT name, count FROM run WHERE store = ? ORDER BY count DESC, name", (store,))
        try:
            for name, count in named:
                self.runs.append(self._open(name, count))
        except BaseException:
            self.close()
            raise
        self.names.clean({name for name, _ in named})

    def __repr__(self) -> str:
        return f"<RunSet {self._store} {[run.count for run in self.runs]}>"

    def __len__(self) -> int:
        return sum(run.count for run in self.runs)

    def _open(self, name: str, count: int) -> Run:
        path = self.names.path(name)
        try:
            run = Run(path)
        except FileNotFoundError as error:
            raise DamagedFile(path, 0, "the checkpoint names it, but it is not there") from error
        if (run.count, run.columns) != (count, self._columns):
            run.close()
            raise DamagedFile(path, path.stat().st_size, f"{run.count} keys where the checkpoint says {count}")
        self._db.presence.add(path, path.stat().st_size)
        return run

    def plan(self, count: int) -> list[Run]:
        """The runs to merge with `count` keys: from the smallest up, those at most `growth` times the sum so far."""
        chosen = []
        for run in sorted(self.runs, key=len):
            if run.count > self._growth * count:
                break
            chosen.append(run)
            count += run.count
        return chosen

    def create(self) -> RunWriter:
        """A writer of a new file of this store, for use in a thread."""
        return RunWriter(self._db.disk, self.names.new(), self._columns)

    def adopt(self, change: Change) -> None:
        """Names the new file instead of the replaced ones, which the next checkpoint removes."""
        for run in change.replaced:
            self._db.execute("DELETE FROM run WHERE name = ?", (run.path.name,))
            self._db.discard(run.path)
            self.runs.remove(run)
            self._replaced.append(run)
        if change.added is not None:
            row = (change.added.path.name, self._store, change.added.count)
            self._db.execute("INSERT INTO run VALUES (?, ?, ?)", row)
            self.runs.append(change.added)
            self._db.presence.add(change.added.path, change.added.path.stat().st_size)
            self.runs.sort(key=len, reverse=True)

    def save(self) -> None:
        """Closes the files that the last checkpoint removed, in a thread.

        The last close of a removed file takes 0.2 ms per MiB to free its blocks: too long for the event loop.
        """
        removed, self._removed, self._replaced = self._removed, self._replaced, []
        if removed:
            self._db.worker.submit(_close, removed)

    def check(self) -> Iterator[DamagedFile]:
        return itertools.chain.from_iterable(run.check() for run in self.runs)

    def close(self) -> None:
        """Closes all files. `runs` stays, because stats.json is written afterwards."""
        _close([*self.runs, *self._replaced, *self._removed])
        self._replaced, self._removed = [], []


def _close(runs: list[Run]) -> None:
    for run in runs:
        run.close()


def contained_in_runs(runs: Sequence[Run], keys: Keys) -> Mask:
    """The ascending keys among these that are in one of the runs; the largest run is first, so fewest keys are left."""
    found = np.zeros(len(keys), np.bool_)
    for run in runs:
        left = np.flatnonzero(~found)
        if len(left) == 0:
            break
        found[left] = run.contains(keys[left])
    return found
