"""Links of crawls that followed them, taken from their tables.

Links enter as in any crawl, so that they are canonicalised, filtered and compared by the same code; what is new comes
out again, and waits for a segment. Where reading has come to is part of the checkpoint.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from threading import Event
from typing import Any

from webcrawl.base.loading import missing
from webcrawl.base.model import Link, Packed, url_of
from webcrawl.crawl.discovery import KNOWN
from webcrawl.crawl.page_links import HOPS
from webcrawl.crawl.rereading import Offline
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.tools.segments.left import Left

AT_ONCE = 1 << 14  # records
NEVER = float("inf")


class Building(Offline):
    """Asks nobody, and has no hosts: budgets and rules of hosts are the business of whoever crawls a segment."""

    def know(self, urls: Sequence[str]) -> None:
        """These were asked for, or are going to be: they are in no segment."""
        self.parts.seen.submit(self.parts.pipeline.keys([*urls]), [KNOWN] * len(urls))

    def start_from(self, urls: Sequence[str]) -> None:
        """These were the seeds of a crawl: with the scope `seeds` they say what is inside."""
        self.parts.pipeline.process("", 0, [*urls])

    def found(self, records: Sequence[Packed]) -> None:
        """Links that have passed the filters."""
        self.parts.seen.submit(self.parts.pipeline.keys([*map(url_of, records)]), records)

    def submit_all_portions(self) -> None:
        """The rest of the links of large pages."""
        while self.parts.discovery.submit_portion(NEVER):
            pass

    def take_new(self, ready: Event) -> Iterator[list[Packed]]:
        """Records known to be new, some at a time. `ready` is set by the seen store's `on_ready`."""
        while True:
            ready.clear()
            if records := self.parts.seen.take(AT_ONCE):
                yield [record for record in records if record]
            elif not ready.is_set():  # else it has only passed over many that were known
                return

    def decide(self) -> bool:
        """Has the seen store decide about what waits there; whether something still does."""
        self.parts.seen.merge()
        return self.parts.seen.pending > 0


logger = logging.getLogger(__name__)

TABLE = "segments.table."  # before a file's path: it was read
WINDOW = 50_000  # pages of whose links none has come yet


class TableReader:
    """Takes links from Parquet files, and how their pages were found from the table `pages`, if there is one.

    Both tables have pages in the order in which they ended, so that some thousand pages at hand are enough.
    """

    def __init__(self, crawl: Building, db: CrawlDB, lose: Callable[[int, str], None]) -> None:
        self._crawl, self._db, self._lose = crawl, db, lose

    def read(self, left: Left) -> Iterator[int]:
        """Submits the links of each page; yields after each, with their number."""
        new = [path for path in left.tables("links") if not self._is_read(path)]
        pages = _Pages(left.tables("pages"))
        for path in new:
            for page, links in groupby(_rows(path, "from_url", "to_url", "kind", "followed"), lambda row: row[0]):
                found = pages.link_of(page)
                if found is None and not left.clean:  # its row may be in a file that is not finished
                    logger.warning("%s: the crawl runs, or was killed: %s is left for later", left.jobdir, path.name)
                    return
                found = found or Link(page, seed=page)
                yield self._page(found, [(url, kind) for _, url, kind, followed in links if followed])
            self._db.set(f"{TABLE}{path.resolve()}", b"1")
        for path, _ in left.gone("tables", ".parquet"):
            if path.name.startswith("links-") and not self._is_read(path):
                self._lose(1, f"{path}: taken away before it was read: copy it back, or its links are missing")

    def forget(self, left: Left) -> None:
        """Its files are another crawl's than those that were read in their folder, be they there yet or not."""
        folder = f"{TABLE}{(left.jobdir / 'tables').resolve()}"
        self._db.delete(f"{folder}/", f"{folder}0")

    def _is_read(self, path: Path) -> bool:
        return self._db.get(f"{TABLE}{path.resolve()}") is not None

    def _page(self, page: Link, links: list[tuple[str, str]]) -> int:
        discovery = self._crawl.parts.discovery
        if len(links) == 1 and links[0][1] == "redirect":
            discovery.redirected(page, links[0][0], "")
        elif links:
            discovery.discover(page, [url for url, _ in links], "".join([HOPS.get(kind, "L") for _, kind in links]))
        return len(links) + 1


class _Pages:
    """The ways by which pages were found, those of whose links some are to be read."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._rows = self._all()
        self._at_hand: OrderedDict[str, Link] = OrderedDict()
        self._most: int | None = None  # rows that are looked through: the first page may be far from the beginning

    def _all(self) -> Iterator[tuple[Any, ...]]:
        return (row for path in self._files for row in _rows(path, "url", "hops", "via", "seed"))

    def link_of(self, url: str) -> Link | None:
        """None if it is not at hand, nor near the last one."""
        most, self._most = self._most, WINDOW
        if url not in self._at_hand and not self._look(url, most) and most is None:  # it is nowhere: others may be
            self._rows = self._all()
            self._at_hand.clear()
        return self._at_hand.pop(url, None)

    def _look(self, url: str, most: int | None) -> bool:
        for page, hops, via, seed in islice(self._rows, most):
            self._at_hand[page] = Link(page, hops or "", via or "", seed or "")
            if len(self._at_hand) > WINDOW:
                self._at_hand.popitem(last=False)
            if page == url:
                return True
        return False


def _rows(path: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - it is optional

        from webcrawl.record.tables.parquet import rows  # noqa: PLC0415 - as above
    except ImportError as error:
        raise StoreError(f"{path}: {missing('pyarrow')}") from error
    try:
        yield from rows(path, *columns)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise StoreError(f"{path}: {' '.join(str(error).split())}") from error
