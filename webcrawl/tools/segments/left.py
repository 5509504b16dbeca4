"""Reads what a crawl left, as of its last checkpoint, for a segment; changes nothing of it.

A crawl that runs, or was killed, may yet take back what no checkpoint has: that is left for the
next time.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from threading import Event
from typing import Any

from webcrawl.base.loading import missing
from webcrawl.base.model import Link, Packed, url_of
from webcrawl.base.readable import readable
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.crawl.checks import SettingError, read
from webcrawl.crawl.control.in_force import META as IN_FORCE
from webcrawl.crawl.discovery import MARK_AS_SEEN
from webcrawl.crawl.page_links import HOPS
from webcrawl.crawl.rereading import Offline
from webcrawl.crawl.segments import FOUND, SPIDER
from webcrawl.record.objectstore.storing import stored_in
from webcrawl.record.warc.reader import OPEN
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawl_line import PATH, PREREQUISITE, URL, VIA, fields
from webcrawl.store.jobdir.crawls import absent_drones
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl
from webcrawl.store.jobdir.meta_row import FILTERS as LEARNED
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import pieces_between
from webcrawl.tools.why.saved_settings import values_of

logger = logging.getLogger(__name__)

OF_LINKS = ("LINK_SOURCES", "CONTENT_SEEN", "FEED_LINKS", "MARKDOWN_LINKS", "DOWNLOAD_TRUNCATE")


@dataclass(frozen=True)
class EarlierCrawl:
    """One crawl. `values`: the settings by which it judges links."""

    jobdir: Path
    values: CheckedSettings
    key: bytes
    learned: Mapping[str, bytes]  # the states of its filters
    outputs: Mapping[str, int]  # lengths by path, of finished files that were taken away, too
    clean: bool  # it was stopped, or has ended

    @property
    def has_found_log(self) -> bool:
        """Return whether the crawl followed no links, and left them."""
        return FOUND in self.outputs

    @property
    def has_tables(self) -> bool:
        """Return whether the crawl has written tables of links, be they here or not."""
        gone = (path.name for path, _ in self.gone("tables", ".parquet"))
        return bool(self.tables("links")) or any(name.startswith("links-") for name in gone)

    def tables(self, name: str) -> list[Path]:
        return _nameable(sorted((self.jobdir / "tables").glob(f"{name}-*.parquet")))

    def gone(self, folder: str, *endings: str) -> Iterator[tuple[Path, int]]:
        """Yield the crawl's finished files there that were taken away, with their lengths."""
        for name, length in self.outputs.items():
            if not name.startswith(f"{folder}/") or not name.endswith(endings):
                continue
            path = self.jobdir / name
            is_here = path.exists() or path.with_name(f"{path.name}{OPEN}").exists()
            if not is_here:
                yield path, length

    def lines(self, path: str, start: int) -> Iterator[tuple[list[bytes], int]]:
        """Yield the lines of a log from this place on, some at a time, and the place after them."""
        end = self.outputs.get(path, 0)
        if start >= end:
            return
        try:
            with regular(self.jobdir / path) as file:
                after = start
                for at, piece in pieces_between(file, start, end):
                    after = at + len(piece) + 1
                    yield piece.split(b"\n"), after
                if os.fstat(file.fileno()).st_size < end:
                    raise DamagedFile(
                        self.jobdir / path, after, f"the file ends early: {end} bytes are expected"
                    )
                if after < end:
                    raise DamagedFile(self.jobdir / path, after, "the line has no end")
        except OSError as error:
            raise StoreError(f"{self.jobdir / path}: {error.strerror or error}") from error


def left_by(jobdir: Path, trusted: Collection[str] = ()) -> list[EarlierCrawl]:
    """Return the crawl, or all drones of the hive, in this folder.

    `trusted`: code that its settings may name.
    """
    for crawl in absent_drones(jobdir):
        logger.warning("%s: left out, because this drone's folder is missing", crawl)
    return [_read(crawl, trusted) for crawl in JobDir.all(jobdir)]


def _read(jobdir: JobDir, trusted: Collection[str]) -> EarlierCrawl:
    _nameable([jobdir.path.resolve()])

    def left(snapshot: Snapshot) -> EarlierCrawl:
        terms = meta_row.terms(snapshot)
        in_force, learned = (
            meta_row.value(snapshot, name, meta_row.mapping, dict[str, Any]())
            for name in (IN_FORCE, LEARNED)
        )
        if terms.get("spider") == SPIDER:
            raise NoCrawl(f"{jobdir.path}: is not a crawl, but the index of segments")
        return EarlierCrawl(
            jobdir.path,
            _values(terms, in_force.get("set") or {}, trusted),
            snapshot.get(meta_row.KEY) or b"",
            learned,
            {name: one.length for name, one in stored_in(snapshot)[0].items()} | lengths(snapshot),
            meta_row.is_clean(snapshot),
        )

    return jobdir.read(left)


def _nameable(paths: list[Path]) -> list[Path]:
    for path in paths:
        if (shown := readable(str(path))) != str(path):
            raise NoCrawl(
                f"{shown}: the path has control or invalid characters, so progress cannot be "
                "recorded under it: rename it"
            )
    return paths


def _values(
    terms: Mapping[str, str], ordered: Mapping[str, Any], trusted: Collection[str]
) -> CheckedSettings:
    own: dict[str, Any] = {}
    for name in OF_LINKS:
        if name in terms:
            try:
                own[name] = read(name, terms[name])
            except SettingError:  # of another version: as it is by default
                continue
    return with_values(values_of(terms, ordered, trusted, []), own)


def crawled(lines: Sequence[bytes]) -> tuple[list[str], list[str]]:
    """Return the URLs of these lines, without robots.txt, and those that were seeds."""
    urls, seeds = [], []
    for line in lines:
        found = fields(line)
        if found is not None and not found[PATH].endswith(PREREQUISITE):
            urls.append(found[URL].decode("ascii", "replace"))
            if found[PATH] == b"-" == found[VIA]:
                seeds.append(urls[-1])
    return urls, seeds


AT_ONCE = 1 << 14  # records
NEVER = float("inf")


class SegmentCrawl(Offline):
    """Asks no server and has no hosts: budgets and rules of hosts are for the segment's crawl."""

    def know(self, urls: Sequence[str]) -> None:
        """Keep these out of segments: they were asked for, or are going to be."""
        self.parts.seen.submit(self.parts.pipeline.keys([*urls]), [MARK_AS_SEEN] * len(urls))

    def start_from(self, urls: Sequence[str]) -> None:
        """Note the seeds of a crawl: with the scope `seeds` they say what is inside."""
        self.parts.pipeline.process("", 0, [*urls])

    def found(self, records: Sequence[Packed]) -> None:
        """Take links that have passed the filters."""
        self.parts.seen.submit(self.parts.pipeline.keys([*map(url_of, records)]), records)

    def submit_all_portions(self) -> None:
        """Submit the rest of the links of large pages."""
        while self.parts.discovery.submit_portion(NEVER):
            pass

    def take_new(self, ready: Event) -> Iterator[list[Packed]]:
        """Yield records known to be new, some at a time.

        `ready` is set by the seen store's `on_ready`.
        """
        while True:
            ready.clear()
            if records := self.parts.seen.take(AT_ONCE):
                yield [record for record in records if record]
            elif not ready.is_set():  # else it has only passed over many that were known
                return

    def decide(self) -> bool:
        """Have the seen store decide about what waits; return whether anything still does."""
        self.parts.seen.merge()
        return self.parts.seen.pending > 0


# -- the links of crawls that followed them, taken from their tables
#
# Links enter as in any crawl, so that they are canonicalised, filtered and compared by the same
# code; what is new comes out again, and waits for a segment. Where reading has come to is part of
# the checkpoint.

TABLE = "segments.table."  # before a file's path: it was read
WINDOW = 50_000  # pages of whose links none has come yet


class TableReader:
    """Takes links from Parquet files, and how pages were found from the table `pages`.

    Both tables have pages in the order in which they ended, so that some thousand pages at hand are
    enough.
    """

    def __init__(self, crawl: SegmentCrawl, db: CrawlDB, lose: Callable[[int, str], None]) -> None:
        self._crawl = crawl
        self._db = db
        self._lose = lose

    def read(self, left: EarlierCrawl) -> Iterator[int]:
        """Submit the links of each page. Yield their number after each page."""
        new = [path for path in left.tables("links") if not self._is_read(path)]
        pages = _Pages(left.tables("pages"))
        for path in new:
            for url, followed in _followed_links(path):
                page = pages.link_of(url)
                may_come_later = page is None and not left.clean
                if may_come_later:  # its row may be in a file that is not finished
                    logger.warning(
                        "%s: the crawl is running or was killed, so %s is left for later",
                        left.jobdir,
                        path.name,
                    )
                    return
                yield self._page(page or Link(url, seed=url), followed)
            self._db.set(f"{TABLE}{path.resolve()}", b"1")
        self._lose_gone(left)

    def _lose_gone(self, left: EarlierCrawl) -> None:
        """Tell of the files that were taken away before their links were read."""
        for path, _ in left.gone("tables", ".parquet"):
            if path.name.startswith("links-") and not self._is_read(path):
                self._lose(
                    1,
                    f"{path}: was removed before it was read: copy it back, or its links are missing",
                )

    def forget(self, left: EarlierCrawl) -> None:
        """Forget which files of the folder were read: another crawl writes there now."""
        folder = f"{TABLE}{(left.jobdir / 'tables').resolve()}"
        self._db.delete(f"{folder}/", f"{folder}0")

    def _is_read(self, path: Path) -> bool:
        return self._db.get(f"{TABLE}{path.resolve()}") is not None

    def _page(self, page: Link, links: list[tuple[str, str]]) -> int:
        discovery = self._crawl.parts.discovery
        is_redirect = len(links) == 1 and links[0][1] == "redirect"
        if is_redirect:
            discovery.redirected(page, links[0][0], "")
        elif links:
            urls = [url for url, _ in links]
            letters = "".join([HOPS.get(kind, "L") for _, kind in links])
            discovery.discover(page, urls, letters)
        return len(links) + 1


def _followed_links(path: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each page of a file of links, with URL and kind of those that the crawl followed."""
    rows = _rows(path, "from_url", "to_url", "kind", "followed")
    for page, links in groupby(rows, key=itemgetter(0)):
        yield page, [(to_url, kind) for _, to_url, kind, is_followed in links if is_followed]


class _Pages:
    """The ways by which pages were found, for the pages whose links are read."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._rows = self._all()
        self._at_hand: OrderedDict[str, Link] = OrderedDict()
        # rows that are looked through: the first page may be far from the beginning
        self._most: int | None = None

    def _all(self) -> Iterator[tuple[Any, ...]]:
        return (row for path in self._files for row in _rows(path, "url", "hops", "via", "seed"))

    def link_of(self, url: str) -> Link | None:
        """Return how a page was found, or None if it is not at hand, nor near the last one."""
        most = self._most
        self._most = WINDOW
        is_found = url in self._at_hand or self._look(url, most)
        if not is_found and most is None:
            # All rows were looked through, and others may be asked for
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
