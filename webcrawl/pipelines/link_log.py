"""logs/links.log: every link of every page, followed or not (LARM)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.values import values_of
from webcrawl.items import Page
from webcrawl.logs.link_line import lines
from webcrawl.pipelines.output import PipelineOutput, open_output
from webcrawl.urls.canonical import canonical_links


class LinkLogPipeline:
    """Logs from, to as written, to normalised, kind and anchor text of each link; part of the checkpoint."""

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

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.links and self._output is not None:
            targets = canonical_links(item.base, [link.address for link in item.links], Counter())
            rows = ((link.kind, link.address, targets[link.address], link.text) for link in item.links)
            self._output.write(lines(item.url, rows))
        return item
