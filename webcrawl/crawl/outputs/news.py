"""Drops what is not news: known bodies, unchanged and withheld pages, robots.txt and block pages.

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

    wanted = False  # whether any output or pipeline asks for unchanged pages

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and (why := self._no_news(item)):
            raise self.dropped(why)
        return item

    def _no_news(self, page: Page) -> str:
        """Return why the page goes no further, by the first rule that applies; empty if it does."""
        if page.is_prerequisite:
            return "robots.txt"
        if is_withheld(page):
            return "its owner does not want it kept"
        is_skipped_copy = page.duplicate and self.values["CONTENT_SEEN"] == "skip"
        if is_skipped_copy:
            return "seen under another URL"
        if page.is_none:
            return page.recognised or "a probe"
        is_no_news = page.change is Change.UNCHANGED and not self.wanted
        if is_no_news:
            return "unchanged"
        return ""


def is_withheld(page: Page) -> bool:
    """Return whether the owner forbids to keep the page, so that only its head is left."""
    return page.exchange is not None and page.exchange.state.withheld is not None
