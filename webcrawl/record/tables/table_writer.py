"""Writes a crawl's tables (docs/outputs.md): streams, which a thread turns into Parquet files.

The checkpoint that notes a Parquet file forgets its stream: one of the two is the crawl's at any
moment, and the other is removed at the latest by the next start.
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
    CHANGES,
    DOCUMENTS,
    FOLDER,
    ROWS,
    STATE,
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

Made = tuple[Mark, int]  # of a file: length and checksum, and its rows


@dataclass(slots=True)
class _File:
    """A Parquet file in the making."""

    name: str  # without an ending
    make: Callable[[Path], Made]
    instead: str  # the file that it takes the place of; empty: none
    stream: TableStream | None = None
    job: Future[Made] | None = None


class Conversions:
    """Makes files one after the other; the next checkpoint notes those that are made.

    What cannot be made now, for want of room, memory or descriptors, is tried again at each
    checkpoint: its stream is there.
    """

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path) -> None:
        self._db = db
        self._outputs = outputs
        self._root = root
        self._worker = Worker()
        outputs.on_close(self._worker.close)
        self._files: list[_File] = []

    @property
    def streams(self) -> list[TableStream]:
        """Return the streams that are full and not yet replaced."""
        return [file.stream for file in self._files if file.stream is not None]

    def convert(self, stream: TableStream) -> None:
        """Queue this stream for its Parquet file: all of it is written."""
        source = self._root / f"{stream.name}{STREAM}"

        def make(target: Path) -> Made:
            return _convert(self._db.disk, source, target, stream.rows)

        self._files.append(_File(stream.name, make, f"{stream.name}{STREAM}", stream))

    def add(self, name: str, make: Callable[[Path], Made], instead: str) -> None:
        """Queue a file that has no stream; `make` runs in the thread."""
        self._files.append(_File(name, make, instead))

    def start(self) -> None:
        """Have the thread make all files that it is not asked for yet."""
        for file in self._files:
            if file.job is None:
                file.job = self._worker.submit(
                    file.make, self._root / f"{file.name}{PARQUET}{OPEN}"
                )

    def wait(self) -> Iterator[None]:
        """Wait until the thread has done its jobs."""
        while not all(file.job is None or self._worker.done(file.job) for file in self._files):
            yield

    def note(self) -> list[str]:
        """Note the files that are made in place of their streams; return the streams' names."""
        noted = []
        for file in list(self._files):
            if file.job is None or not self._worker.done(file.job):
                continue
            made = self._made(file)
            if made is None:
                continue
            mark, rows = made
            # One COMMIT notes the new file and forgets the old one: no row is in both, or in none
            self._outputs.adopt(f"{file.name}{PARQUET}", mark, file.instead)
            self._db.set(f"{ROWS}{file.name}{PARQUET}", str(rows).encode())
            self._files.remove(file)
            noted.append(file.name)
        return noted

    def _made(self, file: _File) -> Made | None:
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


def _convert(disk: Disk, source: Path, target: Path, rows: int) -> Made:
    """Make the Parquet file. Raise DamagedFile if the stream is not as it was written."""
    try:
        schema = read_schema(source)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, error) from error
    made = write_parquet(disk, target, schema, _sound(source))
    if made[1] != rows:
        raise DamagedFile(source, 0, f"it has {made[1]} rows, but {rows} are noted")
    return made


def _sound(source: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from read_stream(source)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, error) from error


def _damaged(source: Path, error: Exception) -> Exception:
    # A stream for which no descriptor was left is sound, and is tried again
    is_lack = isinstance(error, OSError) and is_ours(error)
    if is_lack or isinstance(error, MemoryError):
        return error
    return DamagedFile(source, 0, " ".join(str(error).split()))


FULL = 64 << 20  # bytes of a stream: the links of 40,000 pages, a second's work to convert
# Rows written at once, which takes 3 ms, and characters of the long texts in them
BATCH, SIZE = 256, 8 << 20


class TableWriter:
    """Takes the rows of an output. Takes part in every checkpoint.

    A subclass may hold rows back, and add files.
    """

    def __init__(
        self, db: CrawlDB, outputs: Outputs, root: Path, note: str, *, full: int = FULL
    ) -> None:
        """`note` is the name under which the table meta has what a checkpoint notes."""
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
        """Finish the streams that the last run left open, without adding to them, because this
        version may have different columns.
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
        # Files that a kill left, and no checkpoint names
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")
        return progress

    # -- rows

    def add(self, table: str, row: Row, size: int = 0) -> None:
        """Append a row of a line of crawl.log, in the order of the columns; `size`: characters of
        the long texts in it.
        """
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        self._size += size
        if len(rows) >= BATCH or self._size >= SIZE:
            self._write_rows()

    def _write_rows(self) -> None:
        added = self._rows
        self._rows = {}
        self._size = 0
        for table, rows in added.items():
            self._part.rows += len(rows)
            self.write(table, columns_of(table, rows))

    def write(self, table: str, columns: Iterable[Sequence[Any] | RepeatedColumn]) -> None:
        """Append rows that are no lines of crawl.log, given as one sequence of values per column."""
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
        """Finish all files, and replace the table of hosts by one as of the last checkpoint."""
        for table in list(self._growing):
            self._finish(table)

    def _finish(self, table: str) -> None:
        writer, stream = self._growing.pop(table)
        writer.output.flush()
        writer.output.close()
        self.conversions.convert(stream)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write rows, and have full streams converted; the last time all, and wait for them."""
        self.flush()
        # Once: rows that come later are left to the next run
        ending = self._ending
        self._ending = False
        if ending:
            self.finish()
        self.conversions.start()
        if ending:
            yield from self.conversions.wait()

    def save(self) -> None:
        """Note what is in the files."""
        self.flush()
        self._part.end = self._outputs.length(LOG)
        for name in self.conversions.note():
            if name.startswith(f"{FOLDER}/hosts-"):
                self.progress.hosts = name
        streams = [*self.conversions.streams, *(stream for _, stream in self._growing.values())]
        self._db.set(self._note, self.progress.pack(streams))


# Rows of crawl.db that the thread has in memory
HOSTS_AT_ONCE = 4096
# The worst that one of a host's robots.txt files says, whatever its scheme and port. The rows are
# those of net/robots_entry.py.
ROBOTS_TXT = ("open", "rules", "unreachable", "given up")
_STATE = (
    f"CASE WHEN rules = x'' OR substr(rules, 1, 1) = x'3F' THEN {ROBOTS_TXT.index('open')}"
    f" WHEN substr(rules, 1, 1) <> x'21' THEN {ROBOTS_TXT.index('rules')}"
    f" WHEN substr(rules, 1, 2) <> x'2130' THEN {ROBOTS_TXT.index('unreachable')}"
    f" ELSE {ROBOTS_TXT.index('given up')} END"
)
_PORTS = " OR ".join(
    f"(origin > '{scheme}://' || name || ':' AND origin < '{scheme}://' || name || ';')"
    for scheme in ("http", "https", "ftp")
)
HOSTS = (
    f"SELECT {COLUMNS}, (SELECT max({_STATE}) FROM robots"
    f" WHERE origin IN ('http://' || name, 'https://' || name, 'ftp://' || name) OR {_PORTS}) FROM host ORDER BY name"
)


def write_hosts(disk: Disk, database: Path, most_failures: int, target: Path) -> tuple[Mark, int]:
    """Write the Parquet file; return its mark and its rows. The database is only read.

    `most_failures`: HOST_MAX_FAILURES.
    """
    return write_parquet(disk, target, SCHEMAS["hosts"], _batches(database, most_failures))


def _batches(database: Path, most_failures: int) -> Iterator[pa.RecordBatch]:
    # A connection of its own sees the last COMMIT, whatever the crawl has written since
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute(HOSTS)
            while hosts := found.fetchmany(HOSTS_AT_ONCE):
                columns = zip(
                    *[_row(database, most_failures, *host) for host in hosts], strict=True
                )
                arrays = [
                    pa.array(values, field.type)
                    for values, field in zip(columns, SCHEMAS["hosts"], strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS["hosts"])
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedFile(database, 0, str(error)) from error
        # A lack of ours: it is tried again
        raise OSError(f"{database}: {error}") from error


def _row(database: Path, most_failures: int, *stored: Any) -> Row:
    *row, robots = stored
    try:
        host = read(tuple(row))
    except ValueError as error:
        raise DamagedFile(database, 0, f"table host, {row[0]}: {error}") from error
    return host_row(host, None if robots is None else ROBOTS_TXT[robots], most_failures)


class CrawlTables(TableWriter):
    """Rows of every URL that ends."""

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
        full: int = FULL,
    ) -> None:
        """`host_failures`: HOST_MAX_FAILURES, which may change."""
        super().__init__(db, outputs, root, STATE, full=full)
        self._clock = clock
        self._host_failures = host_failures
        self._links = LinkRows(
            lambda urls, columns: self.write("links", (urls, *columns)),
            follows_redirect,
            max_length,
            left_out,
        )
        self._page: Page | None = None  # whose end is heard next
        self._last: EndedUrl | None = None  # its row is not made yet

    def visit(self, page: Page) -> None:
        """Note the page of the exchange whose end is heard next."""
        self._page = page

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Note the end of a URL.

        Its row is made at the end of the next one: the archive may write right after this call.
        """
        self._settle()
        page = self._page
        self._page = None
        is_of_answer = page is not None and exchange is not None and page.exchange is exchange
        self._last = EndedUrl(
            link, outcome, exchange, page if is_of_answer else None, self._clock()
        )

    def _settle(self) -> None:
        end = self._last
        self._last = None
        if end is None:
            return
        end.links = self._links.add(end)
        self.add("pages", page_row(end), len(end.structured or ""))

    def flush(self) -> None:
        self._settle()
        self._links.flush()
        super().flush()

    def finish(self) -> None:
        """Finish all files, and replace the table of hosts by one as of the last checkpoint."""
        super().finish()
        name = self.progress.next_name("hosts")
        before = self.progress.hosts
        make = partial(write_hosts, self._db.disk, self._db.path, self._host_failures())
        self.conversions.add(name, make, before and f"{before}{PARQUET}")


class ChangeTable(TableWriter):
    """Rows of all fetches that were judged."""

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, *, full: int = FULL) -> None:
        super().__init__(db, outputs, root, CHANGES, full=full)

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Append the row of a fetch that was judged: what has become of its page."""
        if exchange is not None and exchange.state.revisit is not None:
            self.add(
                "changes", change_row(link.url, outcome.status, exchange, exchange.state.revisit)
            )


class DocumentTable(TableWriter):
    """Rows of documents, and of their chunks."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        root: Path,
        *,
        near: int,
        chunk_size: int = 0,
        full: int = FULL,
    ) -> None:
        """`near`: in how many bits the fingerprints of near-duplicates may differ.

        `chunk_size`: characters of a chunk at most; 0 if no chunks are written.
        """
        super().__init__(db, outputs, root, DOCUMENTS, full=full)
        self._chunk_size = chunk_size
        self._chunks: list[Row] = []  # not written yet
        self._chunk_chars = 0
        self._clusters = Clusters(near)
        for name in _begun(root):
            self._clusters.of(name)

    def put(self, page: Page, exchange: Exchange, about: Mapping[str, Any]) -> None:
        """Append the row of a page.

        `about`: what its extractor says; nothing of a page that is no document now.
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
        if len(self._chunks) >= BATCH or self._chunk_chars >= SIZE:
            self._write_chunks()

    def _write_chunks(self) -> None:
        if self._chunks:
            self.write("chunks", [*zip(*self._chunks, strict=True)])
            self._chunks.clear()
            self._chunk_chars = 0

    def flush(self) -> None:
        self._write_chunks()
        super().flush()


def _begun(root: Path) -> list[int]:
    """Return the names of the clusters that began last in earlier runs, without missing files."""
    found: list[int] = []
    for path in sorted((root / FOLDER).glob("documents-*"), reverse=True):
        try:
            pairs = list(parquet.rows(path, "neardup", "cluster", length=path.stat().st_size))
        except (pa.ArrowException, OSError) as error:
            # `webcrawl verify` says more
            logger.warning("%s: its clusters are forgotten: %s", path, " ".join(str(error).split()))
            continue
        # The first document of a cluster gives it its name
        begun = [name for name, cluster in pairs if name is not None and name == cluster]
        found[:0] = begun
        if len(found) >= LIMIT:
            break
    return found
