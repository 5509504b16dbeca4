"""JOBDIR/tables/changes-*.parquet: what each fetch of a page found changed, and how that is known (docs/outputs.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of

if TYPE_CHECKING:
    from webcrawl.record.tables.table_writer import Changes


class ChangesPipeline:
    """Hears of every URL's end; items pass."""

    def __init__(self, crawler: Crawler, root: Path) -> None:
        self._crawler, self._root = crawler, root
        self._changes: Changes | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if "changes" not in values["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler, Path(values["JOBDIR"]))

    def open_spider(self) -> None:
        from webcrawl.record.tables.table_writer import Changes  # noqa: PLC0415 - pyarrow is optional, and 50 MB of memory

        parts = scheduler_of(self._crawler).crawl.parts
        self._changes = Changes(parts.db, parts.outputs, root=self._root)
        parts.log.hearers.append(self._changes.hear)

    def process_item(self, item: Any) -> Any:
        return item

    def close_spider(self) -> None:
        """The last checkpoint, which follows, has the finished files."""
        if self._changes is not None:
            self._changes.end()
