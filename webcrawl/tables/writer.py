"""The tables of a crawl: JOBDIR/tables/{pages,links,hosts}-*.parquet (docs/outputs.md, docs/decisions/tables.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webcrawl.items import Page
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.output import OPEN
from webcrawl.store.outputs import Outputs
from webcrawl.tables.columns import SCHEMAS, page_row
from webcrawl.tables.conversions import Conversions
from webcrawl.tables.ended import Ended
from webcrawl.tables.hosts import write_hosts
from webcrawl.tables.links import LinkRows
from webcrawl.tables.progress import FOLDER, LOG, PARQUET, STATE, STREAM, Progress, Stream
from webcrawl.tables.stream import Repeated, StreamWriter

BATCH = 256  # rows of `pages`; building one takes 3 ms
FULL = 64 << 20  # bytes of a stream: the links of 40,000 pages, a second's work to convert


class Tables:
    """Rows of every URL that ends, in streams that the checkpoint cuts; full ones become Parquet files.

    The checkpoint that notes a Parquet file forgets its stream: one of the two is the crawl's at any moment, and the
    other is removed at the latest by the next start.
    """

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        root: Path,
        *,
        follows_redirect: Callable[[str], bool],
        max_length: int,
        clock: Callable[[], float],
        full: int = FULL,
    ) -> None:
        self._db, self._outputs, self._root, self._clock, self._full = db, outputs, root, clock, full
        self._streams: dict[str, tuple[StreamWriter, Stream]] = {}
        self._links = LinkRows(
            lambda urls, columns: self._write("links", (urls, *columns)), follows_redirect, max_length
        )
        self._pages: list[tuple[Any, ...]] = []
        self._page: Page | None = None  # whose end is heard next
        self._last: Ended | None = None  # its row is not made yet
        self._ending = False
        self._conversions = Conversions(db, outputs, root)
        self._progress = self._resume()
        self._part = self._progress.begin(outputs.length(LOG))
        db.join(self, first=True)  # before the outputs, to which it writes

    def __repr__(self) -> str:
        return f"<Tables {[writer for writer, _ in self._streams.values()]} {self._conversions!r}>"

    def _resume(self) -> Progress:
        """A stream that the last run left is finished as it is: this version may have other columns."""
        try:
            progress = Progress.of(self._db.get(STATE))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFile(self._db.path, 0, f"table meta, {STATE}: {error!r}") from error
        for stream in progress.streams:
            self._conversions.convert(stream)
        folder = self._root / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            self._db.disk.sync_folder(self._root)
        except OSError as error:
            raise StoreError(f"{folder}: {error}") from error
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")
        return progress

    def end(self) -> None:
        """The next checkpoint finishes all files, and has the table of hosts as of the one before."""
        self._ending = True

    # -- rows

    def visit(self, page: Page) -> None:
        """The page of the exchange whose end is heard next."""
        self._page = page

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """The end of a URL. Its row is made at the next one's: the archive may write right after this call."""
        self._settle()
        page, self._page = self._page, None
        if page is not None and (exchange is None or page.exchange is not exchange):
            page = None
        self._last = Ended(link, outcome, exchange, page, self._clock())

    def _settle(self) -> None:
        end, self._last = self._last, None
        if end is None:
            return
        end.links = self._links.add(end)
        self._pages.append(page_row(end))
        if len(self._pages) >= BATCH:
            self._flush_pages()

    def _flush(self) -> None:
        self._settle()
        self._links.flush()
        self._flush_pages()

    def _flush_pages(self) -> None:
        if self._pages:
            rows, self._pages = self._pages, []
            self._part.rows += len(rows)
            self._write("pages", [*zip(*rows, strict=True)])

    def _write(self, table: str, columns: Iterable[Sequence[Any] | Repeated]) -> None:
        if table not in self._streams:
            name = self._progress.next_name(table)
            self._streams[table] = StreamWriter(self._outputs.open(f"{name}{STREAM}"), SCHEMAS[table]), Stream(name, 0)
        writer, stream = self._streams[table]
        stream.rows += writer.write(columns)
        if writer.output.tell() >= self._full:
            self._finish(table)

    def _finish(self, table: str) -> None:
        writer, stream = self._streams.pop(table)
        writer.output.flush()
        writer.output.close()
        self._conversions.convert(stream)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Writes rows, and has full streams converted; the last time all, and waits for them."""
        self._flush()
        ending, self._ending = self._ending, False  # once: rows that come later are left to the next run
        if ending:
            for table in list(self._streams):
                self._finish(table)
            self._add_hosts()
        self._conversions.start()
        if ending:
            yield from self._conversions.wait()

    def _add_hosts(self) -> None:
        """The new file takes the place of the last run's."""
        name, before = self._progress.next_name("hosts"), self._progress.hosts
        self._conversions.add(name, partial(write_hosts, self._db.disk, self._db.path), before and f"{before}{PARQUET}")

    def save(self) -> None:
        """Notes what is in the files."""
        self._flush()
        self._part.end = self._outputs.length(LOG)
        for name in self._conversions.note():
            if name.startswith(f"{FOLDER}/hosts-"):
                self._progress.hosts = name
        streams = [*self._conversions.streams, *(stream for _, stream in self._streams.values())]
        self._db.set(STATE, self._progress.pack(streams))
