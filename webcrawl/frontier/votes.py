"""Links between domains on their way into the table `linked`: sorted, and written a few at a time.

The table has a row for each domain that a page of another one links to: hashes of those others, at most MOST.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from webcrawl.store.crawldb import CrawlDB

MOST = 64  # domains counted that link to one
TAG = 4  # bytes of a source's hash: two of 64 sources collide once in two million domains
VOTE = 48  # bytes of a vote that waits: 12, once more while it is sorted, and 24 for its order and its Python objects
SLICE = 64  # votes written at once: 0.2 ms
FULL = 1 << 12  # domains remembered that have MOST already
LOAD = "SELECT domain, sources FROM linked WHERE domain IN (?{more})"
REPLACE = "INSERT OR REPLACE INTO linked VALUES (?, ?)"
# `||` makes text of its operands, without changing a byte. Tags of a row that is full, or has them, are dropped.
APPEND = (
    "INSERT INTO linked VALUES (?, ?) ON CONFLICT (domain) DO UPDATE SET sources = CAST(sources || excluded.sources AS "
    f"BLOB) WHERE length(sources) < {MOST * TAG} AND instr(sources, excluded.sources) = 0"
)


class Votes:
    """Each is the number of a domain that is linked to, and the tag of one that links to it.

    They are written in the table's order, because one of millions of rows is read and written in pages. What a row gets
    more than once in a slice is joined before.
    """

    def __init__(self, db: CrawlDB, memory: int, on_write: Callable[[], None]) -> None:
        """`on_write` is called whenever some were written."""
        self._db, self._on_write = db, on_write
        self.room = max(memory // VOTE, 1)
        self._targets, self._tags = array("q"), array("I")
        self._owed = 0  # of those, how many were added since some of the sorted ones were written
        self._sorted: npt.NDArray[np.int64] = np.empty((0, 2), np.int64)  # targets and tags
        self._written = 0  # of those
        self.full: set[int] = set()  # some of the domains for which no vote counts any more

    def __repr__(self) -> str:
        return f"<Votes waiting={len(self)} room={self.room}>"

    def __len__(self) -> int:
        """The number of votes that are not written yet."""
        return len(self._targets) + len(self._sorted) - self._written

    def add(self, targets: Sequence[int], tag: int) -> None:
        """A domain links to these. For each that is added, one is written."""
        self._targets.extend(targets)
        self._tags.extend([tag] * len(targets))
        self._owed += len(targets)
        if self._owed >= SLICE and self._written < len(self._sorted):
            self._write()
        if len(self._targets) >= self.room:
            self.flush()
            self._sort()

    def _sort(self) -> None:
        votes = np.column_stack((np.asarray(self._targets, np.int64), np.asarray(self._tags, np.int64)))
        self._sorted, self._written = votes[np.argsort(votes[:, 0], kind="stable")], 0
        self._targets, self._tags = array("q"), array("I")

    def _write(self) -> None:
        """Writes the next of the sorted votes."""
        some = self._sorted[self._written : self._written + SLICE].tolist()
        self._written, self._owed = self._written + len(some), 0
        self.store((target, tag.to_bytes(TAG, "little")) for target, tag in some)

    def store(self, votes: Iterable[tuple[int, bytes]]) -> None:
        """Writes these at once. A row that is full, or has a tag, stays as it is."""
        several: defaultdict[int, list[bytes]] = defaultdict(list)
        for target, tag in votes:
            several[target].append(tag)
        single = [(target, tags[0]) for target, tags in several.items() if len(tags) == 1]
        for target, _ in single:
            del several[target]
        self._db.executemany(APPEND, single)
        if several:
            self._join(several)
        self._on_write()

    def _join(self, votes: Mapping[int, Sequence[bytes]]) -> None:
        """Writes each of these rows once, for all that it gets."""
        rows: dict[int, bytes] = dict(self._db.query(LOAD.format(more=", ?" * (len(votes) - 1)), [*votes]))
        joined = []
        for target, tags in votes.items():
            sources = rows.get(target, b"")
            for tag in tags:
                if tag not in sources and len(sources) < MOST * TAG:
                    sources += tag
            joined.append((target, sources))
        self._db.executemany(REPLACE, joined)
        if len(self.full) >= FULL:
            self.full.clear()
        self.full.update(target for target, sources in joined if len(sources) >= MOST * TAG)

    def flush(self) -> None:
        """Writes the rest of what is sorted."""
        for _ in self._rest():
            pass

    def _rest(self) -> Iterator[None]:
        while self._written < len(self._sorted):
            self._write()
            yield

    def prepare(self) -> Iterator[None]:
        """Writes in slices what waits now."""
        yield from self._rest()
        if self._targets:
            self._sort()
        yield from self._rest()
