"""Streams on their way to Parquet files, in a thread beside the crawl."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.output import OPEN, Mark
from webcrawl.store.outputs import Outputs
from webcrawl.store.worker import Worker
from webcrawl.tables.parquet import write_parquet
from webcrawl.tables.progress import PARQUET, ROWS, STREAM, Stream
from webcrawl.tables.stream import read_schema, read_stream

logger = logging.getLogger(__name__)

Made = tuple[Mark, int]  # of a file: length and checksum, and its rows


@dataclass(slots=True)
class _File:
    """A Parquet file in the making."""

    name: str  # without an ending
    make: Callable[[Path], Made]
    instead: str  # the file that it takes the place of; empty: none
    stream: Stream | None = None
    job: Future[Made] | None = None


class Conversions:
    """Makes files one after the other; the next checkpoint notes those that are made.

    What cannot be written now, for want of room or memory, is tried again at each checkpoint: its stream is there.
    """

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path) -> None:
        self._db, self._outputs, self._root = db, outputs, root
        self._worker = Worker()
        outputs.on_close(self._worker.close)
        self._files: list[_File] = []

    def __repr__(self) -> str:
        return f"<Conversions {[file.name for file in self._files]}>"

    @property
    def streams(self) -> list[Stream]:
        """Those that are full and not yet replaced."""
        return [file.stream for file in self._files if file.stream is not None]

    def convert(self, stream: Stream) -> None:
        """From now on this stream waits for its Parquet file: all of it is written."""
        source = self._root / f"{stream.name}{STREAM}"

        def make(target: Path) -> Made:
            return _convert(self._db.disk, source, target, stream.rows)

        self._files.append(_File(stream.name, make, f"{stream.name}{STREAM}", stream))

    def add(self, name: str, make: Callable[[Path], Made], instead: str) -> None:
        """A file of which there was no stream; `make` runs in the thread."""
        self._files.append(_File(name, make, instead))

    def start(self) -> None:
        """Has the thread make all files that it is not asked for yet."""
        for file in self._files:
            if file.job is None:
                file.job = self._worker.submit(file.make, self._root / f"{file.name}{PARQUET}{OPEN}")

    def wait(self) -> Iterator[None]:
        """Until the thread has done what it was asked for."""
        while not all(file.job is None or self._worker.done(file.job) for file in self._files):
            yield

    def note(self) -> list[str]:
        """Has the checkpoint note the files that are made, instead of their streams; returns their names."""
        noted = []
        for file in [file for file in self._files if file.job is not None and self._worker.done(file.job)]:
            made = self._made(file)
            if made is not None:
                mark, rows = made
                self._outputs.adopt(f"{file.name}{PARQUET}", mark, file.instead)
                self._db.set(f"{ROWS}{file.name}{PARQUET}", str(rows).encode())
                self._files.remove(file)
                noted.append(file.name)
        return noted

    def _made(self, file: _File) -> Made | None:
        job, file.job = file.job, None
        try:
            return self._worker.result(job) if job is not None else None
        except (OSError, MemoryError) as error:
            logger.warning("%s%s: not written yet: %s", self._root / file.name, PARQUET, error or "out of memory")
        return None


def _convert(disk: Disk, source: Path, target: Path, rows: int) -> Made:
    """DamagedFile if the stream is not what was written to it."""
    try:
        schema = read_schema(source)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, error) from error
    made = write_parquet(disk, target, schema, _sound(source))
    if made[1] != rows:
        raise DamagedFile(source, 0, f"{made[1]} rows, {rows} are noted")
    return made


def _sound(source: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from read_stream(source)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, error) from error


def _damaged(source: Path, error: Exception) -> Exception:
    return error if isinstance(error, MemoryError) else DamagedFile(source, 0, " ".join(str(error).split()))
