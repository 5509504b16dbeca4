"""The table `changes`: JOBDIR/tables/changes-*.parquet, a row for each fetch of a page that is fetched again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_change import Judged
from webcrawl.record.tables.ended import LONGEST, host_parts
from webcrawl.record.tables.growing_tables import FULL, Streams
from webcrawl.record.tables.progress import CHANGES
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

BATCH = 256  # rows


class Changes:
    """Rows of all fetches that were judged, in streams that the checkpoint cuts; full ones become Parquet files."""

    def __init__(self, db: CrawlDB, outputs: Outputs, root: Path, *, full: int = FULL) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._ending = False
        self._streams = Streams(db, outputs, root, CHANGES, full)
        db.join(self, first=True)  # before the outputs, to which it writes

    def end(self) -> None:
        """The next checkpoint finishes all files."""
        self._ending = True

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """The end of a URL."""
        if exchange is not None and exchange.revisit is not None:
            self._rows.append(change_row(link.url, outcome.status, exchange, exchange.revisit))
            if len(self._rows) >= BATCH:
                self._flush()

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._streams.count(len(rows))
            self._streams.write("changes", [*zip(*rows, strict=True)])

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
