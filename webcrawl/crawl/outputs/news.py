"""Drops what is not news: known bodies, unchanged and withheld pages, robots.txt and walls.

The archive has them all the same: it comes first.
"""

from __future__ import annotations

from typing import Any

from webcrawl.base.page_values import Change
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Output


class News(Output):
    """Runs between the archive and the processing modules.

    With CONTENT_SEEN=process duplicates pass.

    Pages that were fetched again and have not changed pass if an output asks for them, or a
    pipeline of the user's.
    """

    wanted = False  # whether any does

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and (why := self._no_news(item)):
            raise self.dropped(why)
        return item

    def _no_news(self, page: Page) -> str:
        """Return why the page goes no further; empty if it does."""
        if page.is_prerequisite:
            return "robots.txt"
        if page.exchange is not None and page.exchange.state.withheld is not None:
            return "its owner does not want it kept"
        if page.duplicate and self.values["CONTENT_SEEN"] == "skip":
            return "seen under another URL"
        if page.is_none:
            return page.recognised or "a probe"
        if page.change is Change.UNCHANGED and not self.wanted:
            return "unchanged"
        return ""
