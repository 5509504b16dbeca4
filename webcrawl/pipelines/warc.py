"""The archive: every exchange of the crawl, byte for byte, in warc/*.warc.gz."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from random import SystemRandom
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import BaseSettings

from webcrawl import settings as defaults
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.trip import when_finished
from webcrawl.adapter.values import values_of
from webcrawl.items import Page
from webcrawl.store.errors import StoreError
from webcrawl.text.credentials import text_without_credentials
from webcrawl.warc.writer import WarcFiles, WarcWriter

MB = 1_000_000


class WarcPipeline:
    """Archives a page before any other pipeline sees it; its files are part of the checkpoint."""

    def __init__(self, crawler: Crawler, values: Mapping[str, Any]) -> None:
        self._crawler, self._values = crawler, values
        self._writer: WarcWriter | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if not values["WARC_ENABLED"]:
            raise NotConfigured
        return cls(crawler, values)

    def open_spider(self) -> None:
        scheduler = scheduler_of(self._crawler)
        scheduler.archives(self._write, self.close_spider)
        prefix, max_size = self._values["WARC_PREFIX"], self._values["WARC_MAX_SIZE"]
        self._writer = scheduler.crawl.attach(
            partial(
                WarcWriter,
                files=WarcFiles(prefix, max_size * MB, _info(self._crawler.settings)),
                random=SystemRandom(),
                clock=time.time,
            )
        )

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page):
            try:
                when_finished(partial(self._write, item))
            except Exception as error:  # whatever it is, this page is not archived: it must not be booked
                scheduler_of(self._crawler).fail(error)
                raise DropItem(str(error)) from error
        return item

    def _write(self, page: Page) -> None:
        if self._writer is not None and page.link and page.exchange and _is_record(page):
            metadata = {"title": page.title} if page.title else {}
            self._writer.write(page.link, page.exchange, duplicate=page.duplicate, metadata=metadata)

    def close_spider(self) -> None:
        if self._writer is not None:
            try:
                self._writer.close()
            except StoreError as error:
                scheduler_of(self._crawler).fail(error)


def _is_record(page: Page) -> bool:
    """Where a protocol has no heads, a record says "this is what the URL holds", which is not true of an error."""
    return page.exchange is not None and (bool(page.exchange.head) or page.status == 200)


def _info(settings: BaseSettings) -> dict[str, str]:
    """The settings of the crawl, for readers of the archive, who need no credentials."""
    names = sorted(name for name in vars(defaults) if name.isupper())
    written = " ".join(f"{name}={settings[name]!r}" for name in names)
    return {
        "software": "webcrawl",
        "format": "WARC File Format 1.1",
        "http-header-user-agent": str(settings["USER_AGENT"]),
        "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        "settings": text_without_credentials(written),
    }
