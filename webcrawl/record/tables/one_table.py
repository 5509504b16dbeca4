"""A table that an output has alone: rows in streams that the checkpoint cuts; full ones become Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from webcrawl.record.tables.growing_tables import FULL, Streams
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

BATCH, SIZE = 256, 8 << 20  # rows, and what is large in them
Row = tuple[Any, ...]
Columns = Callable[[Sequence[Row]], Sequence[Sequence[Any]]]


def transposed(rows: Sequence[Row]) -> Sequence[Sequence[Any]]:
    """The columns of these rows."""
    return [*zip(*rows, strict=True)]


class OneTable:
    """`note` is the name under which the table meta has what a checkpoint notes; a part of each checkpoint."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        root: Path,
        name: str,
        note: str,
        *,
        columns: Columns = transposed,
        full: int = FULL,
    ) -> None:
        self._name, self._columns = name, columns
        self._rows: list[Row] = []
        self._size = 0
        self._ending = False
        self._streams = Streams(db, outputs, root, note, full)
        db.join(self, first=True)  # before the outputs, to which it writes

    def add(self, row: Row, size: int = 0) -> None:
        """Appends a row, in the order of the columns; `size`: characters of a text in it that may be long."""
        self._rows.append(row)
        self._size += size
        if len(self._rows) >= BATCH or self._size >= SIZE:
            self._flush()

    def end(self) -> None:
        """The next checkpoint finishes all files."""
        self._ending = True

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows, self._size = self._rows, [], 0
            self._streams.count(len(rows))
            self._streams.write(self._name, self._columns(rows))

    def prepare(self) -> Iterator[None]:
        """Writes rows, and has full streams converted; the last time all, and waits for them."""
        self._flush()
        ending, self._ending = self._ending, False  # once: rows that come later are left to the next run
        if ending:
            self._streams.finish()
        yield from self._streams.prepare(ending=ending)

    def save(self) -> None:
        """Notes what is in the files."""
        self._flush()
        self._streams.save()
