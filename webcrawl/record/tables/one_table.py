"""A table that an output has alone: rows in streams that the checkpoint cuts; full ones become Parquet files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_values import Judged
from webcrawl.base.url_text import host_of
from webcrawl.content.documents.quality import COLUMNS as QUALITY
from webcrawl.content.neardup.near_duplicates import LIMIT, Clusters
from webcrawl.content.page import Page
from webcrawl.record.tables.columns import placed_columns
from webcrawl.record.tables.ended import LONGEST, declared_language, host_parts, in_words, named_canonical
from webcrawl.record.tables.growing_tables import FULL, Streams
from webcrawl.record.tables.parquet import rows
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.table_progress import CHANGES, DOCUMENTS, FOLDER
from webcrawl.store.outputs import Outputs

BATCH, SIZE = 256, 8 << 20  # rows, and what is large in them
Row = tuple[Any, ...]
Columns = Callable[[Sequence[Row]], Sequence[Sequence[Any]]]


def transposed(rows: Sequence[Row]) -> Sequence[Sequence[Any]]:
    """The columns of these rows."""
    return [*zip(*rows, strict=True)]


class OneTable:
    """`note` is the name under which the table meta has what a checkpoint notes; a part of each checkpoint."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        root: Path,
        name: str,
        note: str,
        *,
        columns: Columns = transposed,
        full: int = FULL,
    ) -> None:
        self._name, self._columns = name, columns
        self._rows: list[Row] = []
        self._size = 0
        self._ending = False
        self._streams = Streams(db, outputs, root, note, full)
        db.join(self, first=True)  # before the outputs, to which it writes

    def add(self, row: Row, size: int = 0) -> None:
        """Appends a row, in the order of the columns; `size`: characters of a text in it that may be long."""
        self._rows.append(row)
        self._size += size
        if len(self._rows) >= BATCH or self._size >= SIZE:
            self._flush()

    def end(self) -> None:
        """The next checkpoint finishes all files."""
        self._ending = True

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows, self._size = self._rows, [], 0
            self._streams.count(len(rows))
            self._streams.write(self._name, self._columns(rows))

    def prepare(self) -> Iterator[None]:
        """Writes rows, and has full streams converted; the last time all, and waits for them."""
        self._flush()
        ending, self._ending = self._ending, False  # once: rows that come later are left to the next run
        if ending:
            self._streams.finish()
        yield from self._streams.prepare(ending=ending)

    def save(self) -> None:
        """Notes what is in the files."""
        self._flush()
        self._streams.save()


class Changes(OneTable):
    """Rows of all fetches that were judged."""

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, *, full: int = FULL) -> None:
        super().__init__(db, outputs, root, "changes", CHANGES, full=full)

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """The end of a URL."""
        if exchange is not None and exchange.revisit is not None:
            self.add(change_row(link.url, outcome.status, exchange, exchange.revisit))


def change_row(url: str, status: int, exchange: Exchange, judged: Judged) -> tuple[Any, ...]:
    """A row, in the order of its columns."""
    host = host_of(url)
    parts = host_parts(host)
    return (
        url,
        host,
        parts.tld,
        parts.registered,
        round(exchange.started * 1000),
        round(judged.before * 1000) if judged.before else None,
        exchange.started - judged.before if judged.before else None,
        judged.change.value,
        judged.by and judged.by.value,
        int(status),
        _text(exchange.header(b"etag")),
        _text(exchange.header(b"last-modified")),
        exchange.digest[5:] if exchange.size else None,  # without "sha1:"
        judged.digest or None,
        judged.digest_before or None,
        judged.distance,
        judged.announced,
    )


def _text(value: bytes | None) -> str | None:
    return value.decode("latin-1")[:LONGEST] or None if value else None


logger = logging.getLogger(__name__)


class Documents(OneTable):
    """Rows of documents."""

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, *, near: int, full: int = FULL) -> None:
        """`near`: in how many bits the fingerprints of near-duplicates may differ."""
        columns = partial(placed_columns, "documents")
        super().__init__(db, outputs, root, "documents", DOCUMENTS, columns=columns, full=full)
        self._clusters = Clusters(near)
        for name in _begun(root):
            self._clusters.of(name)

    def put(self, page: Page, exchange: Exchange, about: Mapping[str, Any]) -> None:
        """Appends the row of a page. `about`: what its extractor says; nothing of a page that is no document now."""
        fingerprint = about.get("neardup")
        cluster = None if fingerprint is None else self._clusters.of(fingerprint)
        self.add(document_row(page, exchange, about, cluster), len(about.get("text") or ""))


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


def document_row(page: Page, exchange: Exchange, about: Mapping[str, Any], cluster: int | None) -> tuple[Any, ...]:
    """A row for `placed_columns`, in the order of the columns."""
    host, place, started = host_of(page.url), exchange.archived, round(exchange.started * 1000)
    parts = host_parts(host)
    return (
        str(uuid5(NAMESPACE_URL, f"{page.url} {started}")),
        page.url,
        about.get("text"),
        (page.title or about.get("title") or "")[:LONGEST] or None,
        (about.get("author") or "")[:LONGEST] or None,
        about.get("date"),
        (about.get("license") or "")[:LONGEST] or None,
        declared_language(page, page.found),
        about.get("language_detected"),
        about.get("language_distance"),
        started,
        page.status,
        host,
        parts.tld,
        parts.registered,
        named_canonical(page.found),
        page.content_type[:LONGEST] or None,
        exchange.digest[5:] if exchange.size else None,  # without "sha1:"
        page.truncated or ("length" if about.get("cut") else None),
        place and place.file,
        place,  # its offset
        place,  # its length
        *in_words(page.preferences),
        page.recognised or None,
        page.change.value,
        about.get("flaw"),
        about.get("neardup"),
        cluster,
        exchange.scored and exchange.scored.score,
        *map(about.get, QUALITY),
    )
