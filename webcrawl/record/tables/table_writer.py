"""Writes a crawl's tables (docs/outputs.md): streams, which a thread converts to Parquet files.

The checkpoint that notes a Parquet file forgets its stream. So each row is in one of the two at any
moment, and the next start removes the other one, if it is still there.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from webcrawl.base.errors import words_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.content.near_duplicates import LIMIT, Clusters
from webcrawl.content.page import Page
from webcrawl.net.shortage import is_ours
from webcrawl.record.tables import parquet
from webcrawl.record.tables.columns import (
    SCHEMAS,
    Row,
    change_row,
    chunk_rows,
    columns_of,
    document_row,
    host_row,
    page_row,
)
from webcrawl.record.tables.parquet import StreamWriter, read_schema, read_stream, write_parquet
from webcrawl.record.tables.rows import EndedUrl, LinkRows, RepeatedColumn
from webcrawl.record.tables.table_files import (
    CHANGES_KEY,
    DOCUMENTS_KEY,
    FOLDER,
    PAGES_KEY,
    ROWS_PREFIX,
    TableProgress,
    TableStream,
)
from webcrawl.store.crawldb import CrawlDB, is_damage
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.host_row import COLUMNS, read
from webcrawl.store.output import OPEN, PARQUET, STREAM, Mark
from webcrawl.store.outputs import Outputs
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

WrittenFile = tuple[Mark, int]  # length and checksum of a file, and its number of rows


@dataclass(slots=True)
class _ParquetJob:
    """A Parquet file that is to be written."""

    name: str  # without an ending
    make: Callable[[Path], WrittenFile]
    replaces: str  # the name of the file that it replaces, or empty
    stream: TableStream | None = None
    job: Future[WrittenFile] | None = None


class Conversions:
    """Writes Parquet files in a thread, one after the other. The next checkpoint notes them.

    If disk space, memory or descriptors are lacking, the stream stays, and its conversion is tried
    again at each checkpoint.
    """

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path) -> None:
        self._db = db
        self._outputs = outputs
        self._root = root
        self._worker = Worker()
        outputs.on_close(self._worker.close)
        self._files: list[_ParquetJob] = []

    @property
    def streams(self) -> list[TableStream]:
        """Return the streams that are complete, and whose Parquet files are not noted yet."""
        return [file.stream for file in self._files if file.stream is not None]

    def convert(self, stream: TableStream) -> None:
        """Queue the conversion of a stream, which must be complete."""
        source = self._root / f"{stream.name}{STREAM}"

        def make(target: Path) -> WrittenFile:
            return _convert_stream(self._db.disk, source, target, stream.rows)

        self._files.append(_ParquetJob(stream.name, make, f"{stream.name}{STREAM}", stream))

    def add(self, name: str, make: Callable[[Path], WrittenFile], replaces: str) -> None:
        """Queue a file that has no stream. `make` runs in the thread, and writes it at a path."""
        self._files.append(_ParquetJob(name, make, replaces))

    def start(self) -> None:
        """Submit all queued files to the thread."""
        for file in self._files:
            if file.job is None:
                file.job = self._worker.submit(
                    file.make, self._root / f"{file.name}{PARQUET}{OPEN}"
                )

    def wait(self) -> Iterator[None]:
        """Yield until the thread has done its jobs."""
        while not all(file.job is None or self._worker.done(file.job) for file in self._files):
            yield

    def note(self) -> list[str]:
        """Note the files that are written, and forget those that they replace; return their names.

        The names have no endings.
        """
        noted = []
        for file in list(self._files):
            if file.job is None or not self._worker.done(file.job):
                continue
            written = self._take_result(file)
            if written is None:
                continue
            mark, rows = written
            # One COMMIT notes the new file and forgets the old one: no row is in both, or in none
            self._outputs.adopt(f"{file.name}{PARQUET}", mark, file.replaces)
            self._db.set(f"{ROWS_PREFIX}{file.name}{PARQUET}", str(rows).encode())
            self._files.remove(file)
            noted.append(file.name)
        return noted

    def _take_result(self, file: _ParquetJob) -> WrittenFile | None:
        """Return the result of a job. Return None, and log why, if it must be tried again."""
        job = file.job
        file.job = None
        try:
            return self._worker.result(job) if job is not None else None
        except (OSError, MemoryError) as error:
            logger.warning(
                "%s%s: could not be written yet: %s",
                self._root / file.name,
                PARQUET,
                words_of(error),
            )
        return None


def _convert_stream(disk: Disk, source: Path, target: Path, rows: int) -> WrittenFile:
    """Write the Parquet file of a stream. Raise DamagedFile if the stream is damaged."""
    try:
        schema = read_schema(source)
    except (pa.ArrowException, OSError) as error:
        raise _stream_error(source, error) from error
    mark, written_rows = write_parquet(disk, target, schema, _checked_batches(source))
    if written_rows != rows:
        raise DamagedFile(source, 0, f"it has {written_rows} rows, but {rows} are noted")
    return mark, written_rows


def _checked_batches(source: Path) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream. Raise DamagedFile if it is damaged."""
    try:
        yield from read_stream(source)
    except (pa.ArrowException, OSError) as error:
        raise _stream_error(source, error) from error


def _stream_error(source: Path, error: Exception) -> Exception:
    """Return DamagedFile, or the error itself if only descriptors or memory were lacking."""
    is_lack = isinstance(error, OSError) and is_ours(error)
    if is_lack or isinstance(error, MemoryError):
        return error
    return DamagedFile(source, 0, " ".join(str(error).split()))


MAX_STREAM_BYTES = 64 << 20  # the links of 40,000 pages, which take a second to convert
# Rows that are written at once, which takes 3 ms, and characters of the long texts in them
BATCH_ROWS = 256
BATCH_CHARS = 8 << 20


class TableWriter:
    """Writes the rows of one or more tables, and notes them in each checkpoint.

    A subclass may collect rows before it adds them, and may add files.
    """

    def __init__(
        self, db: CrawlDB, outputs: Outputs, root: Path, note: str, *, full: int = MAX_STREAM_BYTES
    ) -> None:
        """Finish the streams that the last run left. Raise DamagedFile if its note is damaged.

        `note` is the key of the note in the table meta. A stream of `full` bytes is converted.
        """
        self._db = db
        self._outputs = outputs
        self._root = root
        self._note = note
        self._full = full
        self._rows: dict[str, list[Row]] = {}  # not written yet, by table
        self._size = 0
        self._ending = False
        self._growing: dict[str, tuple[StreamWriter, TableStream]] = {}
        self.conversions = Conversions(db, outputs, root)
        self.progress = self._resume()
        self._part = self.progress.begin(outputs.length(LOG))
        # Before the outputs, to which it writes
        db.join(self, first=True)

    def _resume(self) -> TableProgress:
        """Return the last run's progress, and queue its streams for conversion.

        Nothing is added to them, because this version may have other columns.
        """
        try:
            progress = TableProgress.of(self._db.get(self._note))
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
        # A killed run may have left files that no checkpoint names
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")
        return progress

    # -- rows

    def add(self, table: str, row: Row, size: int = 0) -> None:
        """Append the row of a line of crawl.log, with its values in the order of the columns.

        `size` is the number of characters of the long texts in it.
        """
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        self._size += size
        if len(rows) >= BATCH_ROWS or self._size >= BATCH_CHARS:
            self._write_rows()

    def _write_rows(self) -> None:
        """Write the rows that were added to the streams of their tables."""
        added = self._rows
        self._rows = {}
        self._size = 0
        for table, rows in added.items():
            self._part.rows += len(rows)
            self.write(table, columns_of(table, rows))

    def write(self, table: str, columns: Iterable[Sequence[Any] | RepeatedColumn]) -> None:
        """Append rows to a table's stream, given as one sequence of values per column.

        They are not counted as lines of crawl.log.
        """
        if table not in self._growing:
            name = self.progress.next_name(table)
            self._growing[table] = (
                StreamWriter(self._outputs.open(f"{name}{STREAM}"), SCHEMAS[table]),
                TableStream(name, 0),
            )
        writer, stream = self._growing[table]
        stream.rows += writer.write(columns)
        if writer.output.tell() >= self._full:
            self._finish(table)

    def flush(self) -> None:
        """Write all rows to their streams."""
        self._write_rows()

    # -- files

    def end(self) -> None:
        """Have the next checkpoint finish all files."""
        self._ending = True

    def finish(self) -> None:
        """Queue all streams for conversion."""
        for table in list(self._growing):
            self._finish(table)

    def _finish(self, table: str) -> None:
        writer, stream = self._growing.pop(table)
        writer.output.flush()
        writer.output.close()
        self.conversions.convert(stream)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write all rows, and have complete streams converted.

        After `end`, all streams are converted, and the checkpoint waits for them.
        """
        self.flush()
        # Only once: the streams of later rows are left to the next run
        ending = self._ending
        self._ending = False
        if ending:
            self.finish()
        self.conversions.start()
        if ending:
            yield from self.conversions.wait()

    def save(self) -> None:
        """Note the files and streams, and up to where crawl.log has rows."""
        self.flush()
        self._part.end = self._outputs.length(LOG)
        for name in self.conversions.note():
            if name.startswith(f"{FOLDER}/hosts-"):
                self.progress.hosts = name
        streams = [*self.conversions.streams, *(stream for _, stream in self._growing.values())]
        self._db.set(self._note, self.progress.pack(streams))


# Rows of crawl.db that are in memory at once
BATCH_HOSTS = 4096
# The states of robots.txt, the worst last. A host has the worst one of all its schemes and ports.
# The query reads the rows that net/robots_entry.py writes.
ROBOTS_TXT = ("open", "rules", "unreachable", "given up")
_ROBOTS_STATE = (
    f"CASE WHEN rules = x'' OR substr(rules, 1, 1) = x'3F' THEN {ROBOTS_TXT.index('open')}"
    f" WHEN substr(rules, 1, 1) <> x'21' THEN {ROBOTS_TXT.index('rules')}"
    f" WHEN substr(rules, 1, 2) <> x'2130' THEN {ROBOTS_TXT.index('unreachable')}"
    f" ELSE {ROBOTS_TXT.index('given up')} END"
)
_PORTS = " OR ".join(
    f"(origin > '{scheme}://' || name || ':' AND origin < '{scheme}://' || name || ';')"
    for scheme in ("http", "https", "ftp")
)
HOSTS_QUERY = (
    f"SELECT {COLUMNS}, (SELECT max({_ROBOTS_STATE}) FROM robots"
    f" WHERE origin IN ('http://' || name, 'https://' || name, 'ftp://' || name) OR {_PORTS}) FROM host ORDER BY name"
)


def write_hosts(disk: Disk, database: Path, most_failures: int, target: Path) -> tuple[Mark, int]:
    """Write the Parquet file of the table of hosts, from crawl.db as of its last COMMIT.

    Return its length and checksum, and its number of rows. `most_failures` is HOST_MAX_FAILURES.
    Raise DamagedFile if the database is damaged, and OSError if it cannot be read now.
    """
    return write_parquet(disk, target, SCHEMAS["hosts"], _host_batches(database, most_failures))


def _host_batches(database: Path, most_failures: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `hosts` in batches. Raise what `write_hosts` does."""
    # A connection of its own sees the last COMMIT, whatever the crawl has written since
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            cursor = db.execute(HOSTS_QUERY)
            while hosts := cursor.fetchmany(BATCH_HOSTS):
                columns = zip(
                    *[_host_table_row(database, most_failures, *host) for host in hosts],
                    strict=True,
                )
                arrays = [
                    pa.array(values, field.type)
                    for values, field in zip(columns, SCHEMAS["hosts"], strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS["hosts"])
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedFile(database, 0, str(error)) from error
        # Something is lacking on this machine: the conversion is tried again
        raise OSError(f"{database}: {error}") from error


def _host_table_row(database: Path, most_failures: int, *stored: Any) -> Row:
    """Return the row of `hosts` for a row of HOSTS_QUERY. Raise DamagedFile if it is damaged."""
    *row, robots = stored
    try:
        host = read(tuple(row))
    except ValueError as error:
        raise DamagedFile(database, 0, f"table host, {row[0]}: {error}") from error
    return host_row(host, None if robots is None else ROBOTS_TXT[robots], most_failures)


class CrawlTables(TableWriter):
    """Writes the tables `pages` and `links` of every URL that ends, and at the end `hosts`."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        root: Path,
        *,
        follows_redirect: Callable[[str], bool],
        max_length: int,
        clock: Callable[[], float],
        host_failures: Callable[[], int],
        left_out: Callable[[int], None] = lambda _: None,
        full: int = MAX_STREAM_BYTES,
    ) -> None:
        """Go on after the rows that the last checkpoint has.

        `root`: the JOBDIR, under which the files lie.
        `follows_redirect`, `max_length`, `left_out`: those of LinkRows.
        `clock`: the time, in seconds since 1970.
        `host_failures`: returns HOST_MAX_FAILURES, which may change during the crawl.
        `full`: bytes of a stream at which it is converted.
        """
        super().__init__(db, outputs, root, PAGES_KEY, full=full)
        self._clock = clock
        self._host_failures = host_failures
        self._links = LinkRows(
            lambda urls, columns: self.write("links", (urls, *columns)),
            follows_redirect,
            max_length,
            left_out,
        )
        self._page: Page | None = None  # of the URL that ends next
        self._last_end: EndedUrl | None = None  # whose rows are not added yet

    def visit(self, page: Page) -> None:
        """Remember the page of the URL whose end is noted next."""
        self._page = page

    def record_end(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Note the end of a URL.

        Its rows are added when the next URL ends: the archive may write its records only after this
        call.
        """
        self._add_last_end()
        page = self._page
        self._page = None
        is_of_answer = page is not None and exchange is not None and page.exchange is exchange
        self._last_end = EndedUrl(
            link, outcome, exchange, page if is_of_answer else None, self._clock()
        )

    def _add_last_end(self) -> None:
        end = self._last_end
        self._last_end = None
        if end is None:
            return
        end.links = self._links.add(end)
        self.add("pages", page_row(end), len(end.structured or ""))

    def flush(self) -> None:
        self._add_last_end()
        self._links.flush()
        super().flush()

    def finish(self) -> None:
        """Queue all streams, and a table of hosts as of the last COMMIT, which replaces the last."""
        super().finish()
        name = self.progress.next_name("hosts")
        before = self.progress.hosts
        make = partial(write_hosts, self._db.disk, self._db.path, self._host_failures())
        self.conversions.add(name, make, before and f"{before}{PARQUET}")


class ChangeTable(TableWriter):
    """Writes the table `changes`: rows of all fetches that were compared with an earlier one."""

    def __init__(
        self, db: CrawlDB, outputs: Outputs, root: Path, *, full: int = MAX_STREAM_BYTES
    ) -> None:
        super().__init__(db, outputs, root, CHANGES_KEY, full=full)

    def record_end(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Append the row of a fetch, if it was compared with an earlier one."""
        if exchange is not None and exchange.state.revisit is not None:
            self.add(
                "changes", change_row(link.url, outcome.status, exchange, exchange.state.revisit)
            )


class DocumentTable(TableWriter):
    """Writes the tables `documents` and `chunks`."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        root: Path,
        *,
        near: int,
        chunk_size: int = 0,
        full: int = MAX_STREAM_BYTES,
    ) -> None:
        """`near` is the number of bits in which the fingerprints of near-duplicates may differ.

        A chunk has at most `chunk_size` characters; 0: no chunks are written.
        """
        super().__init__(db, outputs, root, DOCUMENTS_KEY, full=full)
        self._chunk_size = chunk_size
        self._chunks: list[Row] = []  # not written yet
        self._chunk_chars = 0
        self._clusters = Clusters(near)
        for name in _recent_clusters(root):
            self._clusters.of(name)

    def put(self, page: Page, exchange: Exchange, about: Mapping[str, Any]) -> None:
        """Append the row of a page, and those of its chunks.

        `about` is what the extractor says of it. It is empty if the page is no longer a document.
        """
        fingerprint = about.get("neardup")
        cluster = None if fingerprint is None else self._clusters.of(fingerprint)
        text_size = len(about.get("text") or "")
        size = text_size + len(page.structured_json or "")
        self.add("documents", document_row(page, exchange, about, cluster), size)
        if not self._chunk_size:
            return
        self._chunks.extend(chunk_rows(page, exchange, about, self._chunk_size))
        self._chunk_chars += text_size
        if len(self._chunks) >= BATCH_ROWS or self._chunk_chars >= BATCH_CHARS:
            self._write_chunks()

    def _write_chunks(self) -> None:
        if self._chunks:
            self.write("chunks", [*zip(*self._chunks, strict=True)])
            self._chunks.clear()
            self._chunk_chars = 0

    def flush(self) -> None:
        self._write_chunks()
        super().flush()


def _recent_clusters(root: Path) -> list[int]:
    """Return the clusters that began last in earlier runs, as far as their files are here.

    A cluster has the fingerprint of its first document as its name.
    """
    clusters: list[int] = []
    for path in sorted((root / FOLDER).glob("documents-*"), reverse=True):
        try:
            pairs = list(parquet.rows(path, "neardup", "cluster", length=path.stat().st_size))
        except (pa.ArrowException, OSError) as error:
            # `webcrawl verify` shows the details
            logger.warning("%s: its clusters are forgotten: %s", path, " ".join(str(error).split()))
            continue
        begun = [name for name, cluster in pairs if name is not None and name == cluster]
        # The files are read from the last one to the first one
        clusters[:0] = begun
        if len(clusters) >= LIMIT:
            break
    return clusters
