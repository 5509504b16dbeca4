"""logs/links.log: every link of every page, followed or not, and every redirect (LARM)."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.values import values_of
from webcrawl.html.kinds import REDIRECT
from webcrawl.items import Page
from webcrawl.logs.link_line import lines, page_lines
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.pipelines.ends import on_end
from webcrawl.pipelines.output import PipelineOutput, open_output
from webcrawl.urls.redirects import target


class LinkLogPipeline:
    """Logs from, to as written, to normalised, kind and anchor text of each link; part of the checkpoint.

    It stands before the pipeline that drops bodies seen before: their links count too. Redirects make no page: the
    pipeline hears of them when they end.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._output: PipelineOutput | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if "links" not in values_of(crawler)["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler)

    def open_spider(self) -> None:
        self._output = open_output(self._crawler, "logs/links.log")
        on_end(self._crawler, self._ended)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and 200 <= item.status < 300 and self._output is not None:
            found = item.all_found  # not `links`: that resolves each of them once more
            if found.links and not item.is_prerequisite:
                kinds, addresses, texts, _, targets = item.columns
                self._output.write(page_lines(item.url, kinds, addresses, targets, texts))
        return item

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        location = exchange.location if exchange is not None and outcome.status > 0 else None
        if exchange is not None and location and self._output is not None and not link.path.endswith("P"):
            self._output.write_now(lines(link.url, [(REDIRECT, location, target(exchange), "")]))
