"""pages/*.pfl and logs/store.log: every new page in LARM's page files."""

from __future__ import annotations

from functools import partial
from typing import Any

from scrapy.exceptions import DropItem

from webcrawl.adapter.pipelines.output import Chosen, is_plain
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.page_values import Change
from webcrawl.content.page import Page
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.trip import when_finished
from webcrawl.record.pagefiles import About, PageFiles
from webcrawl.store.errors import StoreError


class PageFilesPipeline(Chosen):
    """Stores bodies as they are, of whatever type; the files are part of the checkpoint."""

    output = "pagefiles"
    _files: PageFiles | None = None  # of what is no crawl

    def open_spider(self) -> None:
        if not is_plain(self._crawler):
            parts = scheduler_of(self._crawler).crawl.parts
            self._purpose = purpose_of(values_of(self._crawler))
            self._files, self._compared = PageFiles(parts.db, parts.outputs), parts.pipeline.compared

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Page) or item.change is Change.UNCHANGED:  # which comes where a pipeline asks for it
            return item
        if self._files is not None and item.link and 200 <= item.status < 300:
            if self._purpose.obeys_noarchive and self._purpose.forbids(item.preferences, "archive"):
                return item
            about = About(self._compared([item.url])[0], item.status, item.content_type, item.title)
            try:
                when_finished(partial(self._files.write, item.link, about, item.body))
            except (StoreError, MemoryError) as error:
                scheduler_of(self._crawler).fail(error)
                raise DropItem(str(error)) from error
        return item

    def close_spider(self) -> None:
        if self._files is not None:
            self._files.close()
