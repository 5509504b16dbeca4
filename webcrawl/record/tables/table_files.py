"""The tables of a crawl, JOBDIR/tables: of all URLs, links and hosts; of changes; of documents (docs/outputs.md)."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, compress
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.content.html.link_kinds import REDIRECT, FoundLink, LinkColumns
from webcrawl.content.near_duplicates import LIMIT, Clusters
from webcrawl.content.page import Page
from webcrawl.record.tables.columns import SCHEMAS, change_row, document_row, page_row
from webcrawl.record.tables.ended import ROBOTS, Ended, host_parts
from webcrawl.record.tables.parquet import Repeated, rows, write_parquet
from webcrawl.record.tables.table_writer import FULL, TableWriter
from webcrawl.store.crawldb import CrawlDB, is_damage
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.host_row import COLUMNS, health_of, read
from webcrawl.store.jobdir.table_progress import CHANGES, DOCUMENTS, FOLDER, STATE
from webcrawl.store.output import PARQUET, Mark
from webcrawl.store.outputs import Outputs
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links

logger = logging.getLogger(__name__)

HOSTS_AT_ONCE = 4096
# What is known of a host's robots.txt files, of whatever scheme and port: the worst that one of them says. The rows are
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
    """Writes the Parquet file, and returns its mark and its rows; the database is only read.

    `most_failures`: HOST_MAX_FAILURES.
    """
    return write_parquet(disk, target, SCHEMAS["hosts"], _batches(database, most_failures))


def _batches(database: Path, most_failures: int) -> Iterator[pa.RecordBatch]:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute(HOSTS)
            while hosts := found.fetchmany(HOSTS_AT_ONCE):
                columns = zip(*[_row(database, most_failures, *host) for host in hosts], strict=True)
                arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMAS["hosts"], strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS["hosts"])
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedFile(database, 0, str(error)) from error
        raise OSError(f"{database}: {error}") from error  # a lack of ours: tried again


def _row(database: Path, most_failures: int, *stored: Any) -> tuple[Any, ...]:
    *row, robots = stored
    try:
        host = read(tuple(row))
    except ValueError as error:
        raise DamagedFile(database, 0, f"table host, {row[0]}: {error}") from error
    failed, times = host.failed, host.times
    return (
        host.name,
        *host_parts(host.name),
        host.state.name.lower(),
        health_of(host, most_failures).value,
        host.pages,
        host.waiting,
        host.failures,
        int(failed.at * 1000) if failed is not None else None,
        failed.status if failed is not None else None,
        failed.away if failed is not None else None,
        None if robots is None else ROBOTS_TXT[robots],
        host.crawl_delay or None,
        sum(times) / len(times) if times else None,
        int(host.ready_at * 1000) or None,
        host.ip or None,
    )


LINKS_AT_ONCE = 8192  # rows; building one takes 4 ms
PIECE = 1000  # links of a page at once: one may have a hundred thousand, with URLs of 2,000 characters
ROOM = 8 << 20  # characters in the rows of one page; the piece that takes the last of it is whole
REL = 200  # characters of a rel attribute
_KIND = itemgetter(0)
Rows = list[list[Any]]  # one list per column


class LinkRows:
    """Rows of the links of one page after the other; `write` gets them as columns, some thousand at a time."""

    def __init__(
        self,
        write: Callable[[Repeated, Rows], None],
        follows_redirect: Callable[[str], bool],
        max_length: int = MAX_LENGTH,
        left_out: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`follows_redirect` says of a discovery path whether a redirect that ends it is followed.

        `left_out` is told how many links of a page have no rows because those of its first links have taken all room.
        """
        self._write, self._follows_redirect, self._max_length = write, follows_redirect, max_length
        self._left_out = left_out
        self._begin()

    def __len__(self) -> int:
        return len(self._columns[0])

    def _begin(self) -> None:
        self._urls = Repeated([], [])
        self._columns: Rows = [[], [], [], [], []]

    def flush(self) -> None:
        if len(self):
            urls, columns = self._urls, self._columns
            self._begin()
            self._write(urls, columns)

    def add(self, end: Ended) -> int:
        """Adds the links of a URL that has ended; returns their number.

        An address that is no URL the crawl could fetch (`mailto:`, `javascript:`) leads to nothing, and has no row.
        """
        if end.redirect is not None:
            if end.subset == ROBOTS or len(end.redirect) > self._max_length:
                return 0
            follows = self._follows_redirect(end.link.path)
            return self._put(end.link.url, ([end.redirect], [REDIRECT], [""], [""], [follows]))
        if end.page is None or end.found is None or not end.found.links:
            return 0
        url, links, added = end.link.url, end.found.links, 0
        known = end.page.flags if end.found is end.page.found else None
        followed = _are_followed(links, end.page.followed) if known is None else known
        if len(links) <= PIECE and self._max_length == MAX_LENGTH:
            return self._add(url, end.page.columns, followed)  # links.log has them, too
        room = ROOM
        for at in range(0, len(links), PIECE):
            if room <= 0:
                self._left_out(len(links) - at)
                break
            kinds, addresses, texts, rels = zip(*links[at : at + PIECE], strict=True)
            targets = canonical_links(end.found.base, addresses, Counter(), self._max_length)
            piece = LinkColumns(kinds, addresses, texts, rels, [targets[address] or "" for address in addresses])
            added += self._add(url, piece, followed[at : at + PIECE])
            room -= sum(map(len, chain(piece.targets, texts, rels))) + len(url) * len(kinds)
        return added

    def _add(self, url: str, found: LinkColumns, followed: Sequence[bool]) -> int:
        kinds, _, texts, rels, targets = found
        if len("".join(rels)) > REL:  # else none is longer
            rels = [rel[:REL] for rel in rels]
        return self._put(url, (targets, kinds, texts, rels, followed))

    def _put(self, url: str, columns: Sequence[Sequence[Any]]) -> int:
        """Adds rows, but not those without a target: of 50 links of a page one or two, so these are taken out again."""
        place = start = len(self)
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        for _ in range(columns[0].count("")):
            place = self._columns[0].index("", place)
            for column in self._columns:
                del column[place]
        count = len(self) - start
        self._urls.values.append(url)
        self._urls.times.append(count)
        if len(self) >= LINKS_AT_ONCE:
            self.flush()
        return count


def _are_followed(links: Sequence[FoundLink], followed: Sequence[FoundLink]) -> list[bool]:
    """For each link, whether it was followed: by its kind, if that explains it; hashing all links takes longer."""
    if followed is links:
        return [True] * len(links)
    kinds = set(map(_KIND, followed))
    flags = list(map(kinds.__contains__, map(_KIND, links)))
    if list(compress(links, flags)) == followed:
        return flags
    chosen = frozenset(followed)
    return [link in chosen for link in links]


class Tables(TableWriter):
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
        self._clock, self._host_failures = clock, host_failures
        self._links = LinkRows(
            lambda urls, columns: self.write("links", (urls, *columns)), follows_redirect, max_length, left_out
        )
        self._page: Page | None = None  # whose end is heard next
        self._last: Ended | None = None  # its row is not made yet

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
        self.add("pages", page_row(end))

    def flush(self) -> None:
        self._settle()
        self._links.flush()
        super().flush()

    def finish(self) -> None:
        """Have all files finished, and a new table of hosts, as of the last checkpoint, take the last run's place."""
        super().finish()
        name, before = self.progress.next_name("hosts"), self.progress.hosts
        make = partial(write_hosts, self._db.disk, self._db.path, self._host_failures())
        self.conversions.add(name, make, before and f"{before}{PARQUET}")


class Changes(TableWriter):
    """Rows of all fetches that were judged."""

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, *, full: int = FULL) -> None:
        super().__init__(db, outputs, root, CHANGES, full=full)

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """The end of a URL."""
        if exchange is not None and exchange.revisit is not None:
            self.add("changes", change_row(link.url, outcome.status, exchange, exchange.revisit))


class Documents(TableWriter):
    """Rows of documents."""

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, *, near: int, full: int = FULL) -> None:
        """`near`: in how many bits the fingerprints of near-duplicates may differ."""
        super().__init__(db, outputs, root, DOCUMENTS, full=full)
        self._clusters = Clusters(near)
        for name in _begun(root):
            self._clusters.of(name)

    def put(self, page: Page, exchange: Exchange, about: Mapping[str, Any]) -> None:
        """Appends the row of a page. `about`: what its extractor says; nothing of a page that is no document now."""
        fingerprint = about.get("neardup")
        cluster = None if fingerprint is None else self._clusters.of(fingerprint)
        self.add("documents", document_row(page, exchange, about, cluster), len(about.get("text") or ""))


def _begun(root: Path) -> list[int]:
    """The names of the clusters that began last, in earlier runs; those of files that are not here are forgotten."""
    found: list[int] = []
    for path in sorted((root / FOLDER).glob("documents-*"), reverse=True):
        try:
            pairs = list(rows(path, "neardup", "cluster", length=path.stat().st_size))
        except (pa.ArrowException, OSError) as error:  # `scrapy verify` says more
            logger.warning("%s: its clusters are forgotten: %s", path, " ".join(str(error).split()))
            continue
        found[:0] = [name for name, cluster in pairs if name is not None and name == cluster]
        if len(found) >= LIMIT:
            break
    return found
