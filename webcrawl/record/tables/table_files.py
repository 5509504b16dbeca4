"""The tables of a crawl: JOBDIR/tables/{pages,links,hosts}-*.parquet (docs/outputs.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.content.page import Page
from webcrawl.record.tables.columns import page_row, placed_columns
from webcrawl.record.tables.ended import Ended
from webcrawl.record.tables.growing_tables import FULL, Streams
from webcrawl.record.tables.hosts import write_hosts
from webcrawl.record.tables.link_rows import LinkRows
from webcrawl.record.tables.progress import STATE
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.output import PARQUET
from webcrawl.store.outputs import Outputs

BATCH = 256  # rows of `pages`; building one takes 3 ms


class Tables:
    """Rows of every URL that ends, in streams that the checkpoint cuts; full ones become Parquet files."""

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
        self._db, self._clock, self._host_failures = db, clock, host_failures
        self._links = LinkRows(
            lambda urls, columns: self._streams.write("links", (urls, *columns)), follows_redirect, max_length, left_out
        )
        self._pages: list[tuple[Any, ...]] = []
        self._page: Page | None = None  # whose end is heard next
        self._last: Ended | None = None  # its row is not made yet
        self._ending = False
        self._streams = Streams(db, outputs, root, STATE, full)
        db.join(self, first=True)  # before the outputs, to which it writes

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
            self._streams.count(len(rows))
            self._streams.write("pages", placed_columns("pages", rows))

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Writes rows, and has full streams converted; the last time all, and waits for them."""
        self._flush()
        ending, self._ending = self._ending, False  # once: rows that come later are left to the next run
        if ending:
            self._streams.finish()
            self._add_hosts()
        yield from self._streams.prepare(ending=ending)

    def _add_hosts(self) -> None:
        """The new file takes the place of the last run's."""
        progress = self._streams.progress
        name, before = progress.next_name("hosts"), progress.hosts
        make = partial(write_hosts, self._db.disk, self._db.path, self._host_failures())
        self._streams.conversions.add(name, make, before and f"{before}{PARQUET}")

    def save(self) -> None:
        """Notes what is in the files."""
        self._flush()
        self._streams.save()
