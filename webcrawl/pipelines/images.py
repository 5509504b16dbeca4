"""logs/images.log: format, size and frames of each image that the crawl fetched, from its first bytes."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.values import values_of
from webcrawl.images.reading import image_of
from webcrawl.items import Page
from webcrawl.pipelines.output import PipelineOutput, open_output


class ImagesPipeline:
    """One line for each image; part of the checkpoint."""

    content_types = ("image/*",)

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._output: PipelineOutput | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if "images" not in values_of(crawler)["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler)

    def open_spider(self) -> None:
        self._output = open_output(self._crawler, "logs/images.log")

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300 and self._output is not None:
            found = image_of(page.body)
            said = "\t".join(map(str, found)) if found is not None else "-\t\t\t"
            self._output.write(f"{page.url}\t{said}\t{len(page.body)}\n".encode())
