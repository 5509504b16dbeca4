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
        if isinstance(item, Page):
            self._process_page(item)
        return item

    def _process_page(self, page: Page) -> None:
        """Have the body of a successful page written, unless it is unchanged or may not be kept."""
        # An unchanged page comes here where another output asks for it.
        is_news = 200 <= page.status < 300 and page.change is not Change.UNCHANGED
        if self._files is None or not page.link or not is_news:
            return
        if self._purpose.obeys_noarchive and self._purpose.forbids(page.preferences, "archive"):
            return
        form = self._compared([page.url])[0]
        about = PageFileFacts(form, page.status, page.content_type, page.title)
        self.write(partial(self._files.write, page.link, about, page.body))

    def close_spider(self) -> None:
        if self._files is not None:
            self._files.close()
