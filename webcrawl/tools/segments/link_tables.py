"""Takes the links of crawls that followed them from their tables.

Links enter as in any crawl, so that they are canonicalised, filtered and compared by the same code;
what is new comes out again, and waits for a segment. Which files were read is part of the
checkpoint.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from webcrawl.base.loading import missing
from webcrawl.base.model import Link
from webcrawl.crawl.page_links import HOPS
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.tools.segments.earlier_crawl import EarlierCrawl
from webcrawl.tools.segments.segment_crawl import SegmentCrawl

logger = logging.getLogger(__name__)

TABLE_READ = "segments.table."  # begins the row that says that a file was read; its path follows
# Pages at hand whose links have not come yet. Both tables have pages in the order in which they
# ended, so that some thousand are enough.
WINDOW_PAGES = 50_000


class TableReader:
    """Takes links from Parquet files, and how pages were found from the table `pages`."""

    def __init__(
        self, crawl: SegmentCrawl, db: CrawlDB, report_loss: Callable[[int, str], None]
    ) -> None:
        """`report_loss` gets the number of files whose links are missing, and why they are."""
        self._crawl = crawl
        self._db = db
        self._report_loss = report_loss

    def read(self, earlier: EarlierCrawl) -> Iterator[int]:
        """Submit the links of each page that has not been read; yield their number after each page.

        Raise StoreError if a file cannot be read.
        """
        unread = [path for path in earlier.tables("links") if not self._is_read(path)]
        pages = _FoundPages(earlier.tables("pages"))
        for path in unread:
            for url, followed in _followed_links(path):
                page = pages.link_of(url)
                may_come_later = page is None and not earlier.is_clean
                if may_come_later:  # its row may be in a file that is not finished
                    logger.warning(
                        "%s: the crawl is running or was killed, so %s is left for later",
                        earlier.jobdir,
                        path.name,
                    )
                    return
                yield self._submit_page(page or Link(url, seed=url), followed)
            self._db.set(f"{TABLE_READ}{path.resolve()}", b"1")
        self._report_removed(earlier)

    def _report_removed(self, earlier: EarlierCrawl) -> None:
        """Report the files that were taken away before their links were read."""
        for path in earlier.removed_tables():
            if path.name.startswith("links-") and not self._is_read(path):
                self._report_loss(
                    1,
                    f"{path}: was removed before it was read: copy it back, or its links are missing",
                )

    def forget(self, earlier: EarlierCrawl) -> None:
        """Forget which files of the folder were read: another crawl writes there now."""
        folder = f"{TABLE_READ}{(earlier.jobdir / 'tables').resolve()}"
        self._db.delete(f"{folder}/", f"{folder}0")  # 0 follows / in ASCII

    def _is_read(self, path: Path) -> bool:
        return self._db.get(f"{TABLE_READ}{path.resolve()}") is not None

    def _submit_page(self, page: Link, links: list[tuple[str, str]]) -> int:
        """Submit the links of a page, given by URL and kind. Return their number, and 1 more."""
        discovery = self._crawl.parts.discovery
        is_redirect = len(links) == 1 and links[0][1] == "redirect"
        if is_redirect:
            discovery.redirected(page, links[0][0], "")
        elif links:
            urls = [url for url, _ in links]
            hops = "".join([HOPS.get(kind, "L") for _, kind in links])
            discovery.discover(page, urls, hops)
        return len(links) + 1


def _followed_links(path: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each page of a file of links, with URL and kind of those that the crawl followed."""
    rows = _rows(path, "from_url", "to_url", "kind", "followed")
    for page, links in groupby(rows, key=itemgetter(0)):
        yield page, [(to_url, kind) for _, to_url, kind, is_followed in links if is_followed]


class _FoundPages:
    """Says how pages were found, by the files of the table `pages`."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._rows = self._all_rows()
        self._at_hand: OrderedDict[str, Link] = OrderedDict()
        # None: all rows are looked through, as the first page may be far from the beginning
        self._max_rows: int | None = None

    def _all_rows(self) -> Iterator[tuple[Any, ...]]:
        return (row for path in self._files for row in _rows(path, "url", "hops", "via", "seed"))

    def link_of(self, url: str) -> Link | None:
        """Return how a page was found, or None if it is not at hand, nor near the last one."""
        max_rows = self._max_rows
        self._max_rows = WINDOW_PAGES
        is_found = url in self._at_hand or self._advance_to(url, max_rows)
        if not is_found and max_rows is None:
            # All rows were looked through, and other pages may be among them.
            self._rows = self._all_rows()
            self._at_hand.clear()
        return self._at_hand.pop(url, None)

    def _advance_to(self, url: str, max_rows: int | None) -> bool:
        """Have further rows at hand, up to that of this page; return whether it has come."""
        for page, hops, via, seed in islice(self._rows, max_rows):
            self._at_hand[page] = Link(page, hops or "", via or "", seed or "")
            if len(self._at_hand) > WINDOW_PAGES:
                self._at_hand.popitem(last=False)
            if page == url:
                return True
        return False


def _rows(path: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield these columns of a Parquet file. Raise StoreError if it cannot be read."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - it is optional

        from webcrawl.record.tables.parquet import rows  # noqa: PLC0415 - as above
    except ImportError as error:
        raise StoreError(f"{path}: {missing('pyarrow')}") from error
    try:
        yield from rows(path, *columns)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise StoreError(f"{path}: {' '.join(str(error).split())}") from error
