"""text/*.jsonl.gz: the visible text of new or changed pages; index/: its full-text index."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_values import Change
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.run import Run
from webcrawl.record.fulltext.text_files import MakeLine, TextFiles, blank_line, page_line
from webcrawl.store.errors import StoreError
from webcrawl.urls.host_names import RegisteredDomains

MB = 1_000_000


class Lines(Protocol):
    """Where the lines of pages go."""

    def add(self, make: MakeLine, /) -> object:
        """Add the line that `make` makes from the page's number, unless it is empty."""


class PageLines(Output):
    """Adds a line to `lines` for each page of status 2xx that shows text.

    What is no longer so has a line, too: of pages that are gone, that show no text any more, or are
    by now what another URL has, which is not processed.
    """

    lines: Lines | None = None  # None: no crawl is open

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._skips = values["CONTENT_SEEN"] == "skip"

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and has_news(item):
            self.write(partial(self._write, item))
        return item

    def _write(self, page: Page) -> None:
        """Add the line of a page. The archive must have the page: its line says where."""
        if self.lines is not None:
            self.lines.add(partial(page_line, page))

    def record_end(self, link: Link, _outcome: Outcome, exchange: Exchange | None) -> None:
        """Add the line of a page that has changed and that no output gets."""
        page = unprocessed(link, exchange, skips_seen=self._skips)
        if page is not None and self.lines is not None:
            self.lines.add(partial(blank_line, page))


class Text(PageLines):
    """Writes the lines of `PageLines` to files that are a part of the checkpoint."""

    output = "text"
    _files: TextFiles | None = None

    def open(self, run: Run) -> None:
        """Open the text files and, for the output `index`, what indexes them."""
        super().open(run)
        parts = run.crawl.parts
        self.lines = self._files = files = TextFiles(
            parts.db, parts.outputs, max_size=self.values["WARC_MAX_SIZE"] * MB
        )
        parts.log.hearers.append(self.record_end)
        if "index" in self.values["OUTPUTS"]:
            from webcrawl.record.fulltext.text_index import Indexer  # noqa: PLC0415 - tantivy is optional

            obeys = purpose_of(self.values).obeys_noindex
            run.crawl.followers.add(
                Indexer(parts.db, self.folder, files, RegisteredDomains(), obeys_noindex=obeys)
            )

    def close_spider(self) -> None:
        if self._files is not None:
            try:
                self._files.close()
            except StoreError as error:
                self.run.fail(error)


def unprocessed(link: Link, exchange: Exchange | None, *, skips_seen: bool) -> Page | None:
    """Return a page that has changed and that no output gets, for its line, or None for any other.

    Another URL had its body before, or it may not be kept now. `skips_seen`: whether CONTENT_SEEN
    keeps such a copy from the outputs.
    """
    if exchange is None:
        return None
    is_withheld = exchange.state.withheld is not None
    is_skipped_copy = exchange.state.duplicate and skips_seen
    if not is_withheld and not is_skipped_copy:
        return None
    change = _change_of(exchange)
    # Its body is the one that was kept, and may not be kept any more.
    is_withheld_since = is_withheld and change is Change.UNCHANGED
    if change is not Change.CHANGED and not is_withheld_since:
        return None
    page = Page.of(link, exchange)
    page.change = Change.CHANGED
    return page


def _change_of(exchange: Exchange) -> Change | None:
    """Return what the page has become since its last fetch, by this crawl or an earlier one."""
    judged = exchange.state.revisit
    change: Change | None = exchange.state.since
    if judged is not None and judged.change is not Change.NEW:
        change = judged.change
    return change


def has_news(page: Page) -> bool:
    """Return whether a page has another text than before, or none any more.

    Unchanged pages come where an output asks for them.
    """
    if page.change is Change.GONE:
        return True
    return 200 <= page.status < 300 and page.change is not Change.UNCHANGED
