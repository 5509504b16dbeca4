"""The table `changes`: JOBDIR/tables/changes-*.parquet, a row for each fetch of a page that is fetched again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_change import Judged
from webcrawl.record.tables.ended import LONGEST, host_parts
from webcrawl.record.tables.growing_tables import FULL
from webcrawl.record.tables.one_table import OneTable
from webcrawl.record.tables.progress import CHANGES
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs


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
