"""JOBDIR/tables: what became of every URL, every link, every host, as Parquet files (docs/outputs.md)."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.pipelines.output import at_hand, link_columns
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.model import redirects_in_a_row
from webcrawl.content.page import Page
from webcrawl.crawl.trip import when_finished

if TYPE_CHECKING:
    from webcrawl.record.tables.table_writer import Tables


COUNTER = "links/untabled"


class TablesPipeline:
    """Hears of every URL's end; what only a page knows it gets here, before pages seen elsewhere are dropped."""

    def __init__(self, crawler: Crawler, root: Path, *, redirects: int, max_length: int) -> None:
        self._crawler, self._root, self._redirects, self._max_length = crawler, root, redirects, max_length
        self._tables: Tables | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if "tables" not in values["OUTPUTS"]:
            raise NotConfigured
        return cls(
            crawler,
            Path(values["JOBDIR"]),
            redirects=values["REDIRECT_MAX_HOPS"],
            max_length=values["URL_MAX_LENGTH"],
        )

    def open_spider(self) -> None:
        from webcrawl.record.tables.table_writer import Tables  # noqa: PLC0415 - pyarrow is optional, and 50 MB of memory

        parts = scheduler_of(self._crawler).crawl.parts
        self._tables = Tables(
            parts.db,
            parts.outputs,
            root=self._root,
            follows_redirect=self._follows_redirect,
            max_length=self._max_length,
            clock=time.time,
            host_failures=lambda: parts.in_force.values["HOST_MAX_FAILURES"],
            left_out=lambda links: parts.counters.update({COUNTER: links}),
        )
        parts.log.hearers.append(self._tables.hear)
        at_hand(self._crawler, link_columns)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and self._tables is not None:
            when_finished(partial(self._tables.visit, item))
        return item

    async def close_spider(self) -> None:
        """A checkpoint notes all hosts; the last one, which follows, has the table of them, and the finished files."""
        if self._tables is None:
            return
        scheduler = scheduler_of(self._crawler)
        if scheduler.failed is None:
            try:
                await scheduler.checkpoint()
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing more is kept
                scheduler.fail(error)
        self._tables.end()

    def _follows_redirect(self, path: str) -> bool:
        return redirects_in_a_row(path) < self._redirects
