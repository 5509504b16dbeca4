"""The table `documents`: JOBDIR/tables/documents-*.parquet, a row for each page with its main text."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Exchange
from webcrawl.content.documents.quality import COLUMNS as QUALITY
from webcrawl.content.neardup.clusters import LIMIT, Clusters
from webcrawl.content.page import Page
from webcrawl.record.tables.columns import placed_columns
from webcrawl.record.tables.ended import LONGEST, declared_language, host_parts, in_words, named_canonical
from webcrawl.record.tables.growing_tables import FULL
from webcrawl.record.tables.one_table import OneTable
from webcrawl.record.tables.progress import DOCUMENTS, FOLDER
from webcrawl.record.tables.table_stream import rows
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

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
