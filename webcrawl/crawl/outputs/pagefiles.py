"""pages/*.pfl and logs/store.log: every new page in LARM's page files."""

from __future__ import annotations

from functools import partial
from typing import Any

from webcrawl.base.page_values import Change
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.run import Run
from webcrawl.record.pagefiles import PageFileFacts
from webcrawl.record.pagefiles import PageFiles as Files


class PageFiles(Output):
    """Stores bodies as they are, of whatever type; the files are part of the checkpoint."""

    output = "pagefiles"
    _files: Files | None = None  # of what is no crawl

    def open(self, run: Run) -> None:
        super().open(run)
        if run.is_open:
            parts = run.crawl.parts
            self._purpose = purpose_of(self.values)
            self._files = Files(parts.db, parts.outputs)
            self._compared = parts.pipeline.compared

    def process_item(self, item: Any) -> Any:
        # which comes where an output asks for it
        if not isinstance(item, Page) or item.change is Change.UNCHANGED:
            return item
        if self._files is not None and item.link and 200 <= item.status < 300:
            if self._purpose.obeys_noarchive and self._purpose.forbids(item.preferences, "archive"):
                return item
            about = PageFileFacts(
                self._compared([item.url])[0], item.status, item.content_type, item.title
            )
            self.write(partial(self._files.write, item.link, about, item.body))
        return item

    def close_spider(self) -> None:
        if self._files is not None:
            self._files.close()
