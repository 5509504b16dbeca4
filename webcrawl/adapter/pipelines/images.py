"""logs/images.log: format and size of each image that the crawl fetched, from its first bytes."""

from __future__ import annotations

from webcrawl.adapter.pipelines.output import LogPipeline
from webcrawl.content.page import Page


class ImagesPipeline(LogPipeline):
    """One line for each image."""

    output, path = "images", "logs/images.log"
    content_types = ("image/*",)

    def open_spider(self) -> None:
        from webcrawl.content.image_headers import image_of  # noqa: PLC0415 - Scrapy imports every pipeline for any crawl

        super().open_spider()
        self._read = image_of

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            found = self._read(page.body)
            said = "\t".join(map(str, found)) if found is not None else "-\t\t"
            self._log.write(f"{page.url}\t{said}\t{len(page.body)}\n".encode())
