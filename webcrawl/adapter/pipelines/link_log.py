"""logs/links.log: every link of every page, followed or not, and every redirect (LARM)."""

from __future__ import annotations

from typing import Any

from webcrawl.adapter.pipelines.ends import on_end
from webcrawl.adapter.pipelines.output import LogPipeline, at_hand, is_plain, link_columns
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.numbers import FEW
from webcrawl.content.html.link_kinds import REDIRECT
from webcrawl.content.page import Page
from webcrawl.store.jobdir.log_lines import link_lines, page_lines, unlogged
from webcrawl.urls.canonical import redirect_target

COUNTER = "links/unlogged"
LINES = "link_lines"  # among what was looked up of a page


class LinkLogPipeline(LogPipeline):
    """Logs from, to as written, to normalised, kind and anchor text of each link.

    It stands before the pipeline that drops bodies seen before: their links count too. Redirects make no page: the
    pipeline hears of them when they end.
    """

    output, path = "links", "logs/links.log"

    def open_spider(self) -> None:
        super().open_spider()
        on_end(self._crawler, self._ended)
        at_hand(self._crawler, link_columns)
        at_hand(self._crawler, lines_of)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and (data := lines_of(item)):
            self._log.write(data)
            if len(item.columns.kinds) > FEW:
                self._count(item)
        return item

    def _count(self, page: Page) -> None:
        kinds, addresses, texts, _, targets = page.columns
        left = unlogged(page.url, kinds, addresses, targets, texts)
        if left and not is_plain(self._crawler):
            scheduler_of(self._crawler).crawl.parts.counters.update({COUNTER: left})

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        location = exchange.location if exchange is not None and outcome.status > 0 else None
        if exchange is not None and location and not link.is_prerequisite:
            self._log.write_now(link_lines(link.url, [(REDIRECT, location, redirect_target(exchange), "")]))


def lines_of(page: Page) -> bytes:
    """Those of a page's links, made once; none of an answer that is not the page, nor of a robots.txt."""
    if not 200 <= page.status < 300 or page.is_prerequisite or not page.all_found.links:
        return b""
    kinds, addresses, texts, _, targets = page.columns
    known: dict[str, Any] = page.looked_up or {}  # it has the columns
    url, data = known.get(LINES, ("", b""))
    if url != page.url:  # a callback may have given the page another since
        data = page_lines(page.url, kinds, addresses, targets, texts)
        known[LINES] = page.url, data
    return bytes(data)
