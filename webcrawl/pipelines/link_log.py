"""logs/links.log: every link of every page, followed or not, and every redirect (LARM)."""

from __future__ import annotations

from typing import Any

from webcrawl.html.kinds import REDIRECT
from webcrawl.items import Page
from webcrawl.logs.link_line import lines, page_lines
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.pipelines.chosen import LogPipeline
from webcrawl.pipelines.ends import on_end
from webcrawl.urls.redirects import target


class LinkLogPipeline(LogPipeline):
    """Logs from, to as written, to normalised, kind and anchor text of each link.

    It stands before the pipeline that drops bodies seen before: their links count too. Redirects make no page: the
    pipeline hears of them when they end.
    """

    output, path = "links", "logs/links.log"

    def open_spider(self) -> None:
        super().open_spider()
        on_end(self._crawler, self._ended)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and 200 <= item.status < 300:
            found = item.all_found  # not `links`: that resolves each of them once more
            if found.links and not item.is_prerequisite:
                kinds, addresses, texts, _, targets = item.columns
                self._log.write(page_lines(item.url, kinds, addresses, targets, texts))
        return item

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        location = exchange.location if exchange is not None and outcome.status > 0 else None
        if exchange is not None and location and not link.path.endswith("P"):
            self._log.write_now(lines(link.url, [(REDIRECT, location, target(exchange), "")]))
