"""The tables of one output while the crawl runs: a stream for each, which becomes a Parquet file when it is full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.output import OPEN
from webcrawl.store.outputs import Outputs
from webcrawl.tables.columns import SCHEMAS
from webcrawl.tables.conversions import Conversions
from webcrawl.tables.progress import FOLDER, LOG, STREAM, Progress, Stream
from webcrawl.tables.stream import Repeated, StreamWriter

FULL = 64 << 20  # bytes of a stream: the links of 40,000 pages, a second's work to convert


class Streams:
    """Takes rows; its owner, a part of the checkpoint, calls the rest.

    The checkpoint that notes a Parquet file forgets its stream: one of the two is the crawl's at any moment, and the
    other is removed at the latest by the next start.
    """

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, note: str, full: int = FULL) -> None:
        """`note` is the name under which the table meta has what a checkpoint notes."""
        self._db, self._outputs, self._root, self._note, self._full = db, outputs, root, note, full
        self._growing: dict[str, tuple[StreamWriter, Stream]] = {}
        self.conversions = Conversions(db, outputs, root)
        self.progress = self._resume()
        self._part = self.progress.begin(outputs.length(LOG))

    def __repr__(self) -> str:
        return f"<Streams {[writer for writer, _ in self._growing.values()]} {self.conversions!r}>"

    def _resume(self) -> Progress:
        """A stream that the last run left is finished as it is: this version may have other columns."""
        try:
            progress = Progress.of(self._db.get(self._note))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFile(self._db.path, 0, f"table meta, {self._note}: {error!r}") from error
        for stream in progress.streams:
            self.conversions.convert(stream)
        folder = self._root / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            self._db.disk.sync_folder(self._root)
        except OSError as error:
            raise StoreError(f"{folder}: {error}") from error
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")
        return progress

    def write(self, table: str, columns: Iterable[Sequence[Any] | Repeated]) -> None:
        """Appends rows, given as one sequence of values per column."""
        if table not in self._growing:
            name = self.progress.next_name(table)
            self._growing[table] = StreamWriter(self._outputs.open(f"{name}{STREAM}"), SCHEMAS[table]), Stream(name, 0)
        writer, stream = self._growing[table]
        stream.rows += writer.write(columns)
        if writer.output.tell() >= self._full:
            self._finish(table)

    def count(self, rows: int) -> None:
        """So many rows more are of lines of crawl.log."""
        self._part.rows += rows

    def finish(self) -> None:
        """Every stream is to become a Parquet file."""
        for table in list(self._growing):
            self._finish(table)

    def _finish(self, table: str) -> None:
        writer, stream = self._growing.pop(table)
        writer.output.flush()
        writer.output.close()
        self.conversions.convert(stream)

    def prepare(self, *, ending: bool) -> Iterator[None]:
        """Has what is finished converted, and at the end waits for it."""
        self.conversions.start()
        if ending:
            yield from self.conversions.wait()

    def save(self) -> None:
        """Notes what is in the files."""
        self._part.end = self._outputs.length(LOG)
        for name in self.conversions.note():
            if name.startswith(f"{FOLDER}/hosts-"):
                self.progress.hosts = name
        streams = [*self.conversions.streams, *(stream for _, stream in self._growing.values())]
        self._db.set(self._note, self.progress.pack(streams))
