"""logs/neardup.log: a fingerprint of each page's text, of which near-duplicates share nearly all bits."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.values import values_of
from webcrawl.items import Page
from webcrawl.pipelines.output import PipelineOutput, open_output


class NearDuplicatesPipeline:
    """One line for each page; part of the checkpoint."""

    content_types = ("text/html", "application/xhtml+xml", "text/plain")

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._output: PipelineOutput | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if "neardup" not in values_of(crawler)["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler)

    def open_spider(self) -> None:
        self._output = open_output(self._crawler, "logs/neardup.log")

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300 and self._output is not None:
            found = page.fingerprint
            self._output.write(f"{'-' if found is None else f'{found:016x}'}\t{page.url}\n".encode())
