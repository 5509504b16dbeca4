"""JOBDIR/tables, in Parquet: what became of URLs, links and hosts (docs/outputs.md)."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.base.model import redirects_in_a_row
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Output, at_hand, link_columns
from webcrawl.crawl.run import Run
from webcrawl.crawl.trip import when_finished

if TYPE_CHECKING:
    from webcrawl.record.tables import table_writer

COUNTER = "links/untabled"


class Tables(Output):
    """Hears of the end of every URL.

    It gets pages, for what only they know, before those seen elsewhere are dropped.
    """

    # Four outputs, `warc cdxj links tables`, cost 1.35 to 1.39 times the CPU of the archive alone.
    output = "tables"

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._tables: table_writer.CrawlTables | None = None

    def open(self, run: Run) -> None:
        """Open the tables of pages, links and hosts, and begin to hear of ended URLs."""
        super().open(run)
        from webcrawl.record.tables import table_writer  # noqa: PLC0415 - pyarrow is optional, and 50 MB of memory

        parts = run.crawl.parts
        self._tables = table_writer.CrawlTables(
            parts.db,
            parts.outputs,
            root=self.folder,
            follows_redirect=self._follows_redirect,
            max_length=self.values["URL_MAX_LENGTH"],
            clock=time.time,
            host_failures=lambda: parts.in_force.values["HOST_MAX_FAILURES"],
            left_out=lambda links: parts.counters.update({COUNTER: links}),
        )
        parts.log.hearers.append(self._tables.record_end)
        at_hand(run, link_columns)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and self._tables is not None:
            when_finished(partial(self._tables.visit, item))
        return item

    async def close_spider(self) -> None:
        """Finish the tables; a checkpoint notes all hosts.

        The last checkpoint, which follows, has the table of hosts and the finished files.
        """
        if self._tables is None:
            return
        # The table of hosts is read from the last COMMIT, over a connection of its own.
        if self.run.failed is None:
            try:
                await self.run.checkpoint()
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing more is kept
                self.run.fail(error)
        self._tables.end()

    def _follows_redirect(self, path: str) -> bool:
        return redirects_in_a_row(path) < self.values["REDIRECT_MAX_HOPS"]


class Changes(Output):
    """What each fetch of a page found changed, and how that is known.

    It hears of every URL's end; pages pass.
    """

    output = "changes"

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._changes: table_writer.ChangeTable | None = None

    def open(self, run: Run) -> None:
        super().open(run)
        from webcrawl.record.tables import table_writer  # noqa: PLC0415 - as above

        parts = run.crawl.parts
        self._changes = table_writer.ChangeTable(parts.db, parts.outputs, root=self.folder)
        parts.log.hearers.append(self._changes.record_end)

    def close_spider(self) -> None:
        """Finish the files: the last checkpoint, which follows, has them."""
        if self._changes is not None:
            self._changes.end()
