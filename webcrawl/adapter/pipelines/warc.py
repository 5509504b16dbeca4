"""The archive: every exchange of the crawl, byte for byte, in warc/*.warc.gz.

A `Page` is archived when it reaches the pipelines, with what only the page knows: its title, and whether its body was
seen before. What the spider made no page of is archived as it came, before it is booked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from random import SystemRandom
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import BaseSettings

from webcrawl import __version__
from webcrawl import settings as defaults
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Exchange, Link
from webcrawl.base.page_values import Change
from webcrawl.base.readable import text_without_credentials
from webcrawl.content.page import Page
from webcrawl.content.preferences.purpose_bits import Purpose
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.trip import when_finished
from webcrawl.record.warc.capture import AGAIN, Press
from webcrawl.record.warc.warc_writer import WarcFiles, WarcWriter
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import cores

MB = 1_000_000


class WarcPipeline:
    """Archives a page before any other pipeline sees it; its files are part of the checkpoint."""

    def __init__(self, crawler: Crawler, values: Mapping[str, Any]) -> None:
        self._crawler, self._values = crawler, values
        self._writer: WarcWriter | None = None
        self._purpose = Purpose()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if "warc" not in values["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler, values)

    def open_spider(self) -> None:
        scheduler = scheduler_of(self._crawler)
        prefix, max_size = self._values["WARC_PREFIX"], self._values["WARC_MAX_SIZE"]
        if self._values["HIVE_DRONES"]:  # drones that start in the same second must not use the same names
            prefix = f"{prefix}-{self._values['HIVE_DRONE']:03d}"
        self._purpose = purpose_of(self._values)
        archiving = scheduler.moments.archiving
        archiving.archive, archiving.end = self.archive, self.close_spider
        self._writer = WarcWriter(
            scheduler.crawl.parts.db,
            scheduler.crawl.parts.outputs,
            WarcFiles(
                prefix,
                max_size * MB,
                _info(self._crawler.settings),
                indexed="cdxj" in self._values["OUTPUTS"],
            ),
            random=SystemRandom(),
            clock=time.time,
            press=Press() if cores() > 1 else None,
        )

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.link is not None and item.exchange is not None:
            again = item.duplicate or item.change is Change.CHANGED  # it may be what it was some time ago
            write = partial(self._write, item, item.link, item.exchange, duplicate=again)
            try:
                when_finished(write)
            except Exception as error:  # whatever it is, this page is not archived: it must not be booked
                scheduler_of(self._crawler).fail(error)
                raise DropItem(str(error)) from error
        return item

    def archive(self, link: Link, exchange: Exchange) -> None:
        """Any other answer, of any spider. One with a payload that was archived recently becomes a revisit record."""
        page = scheduler_of(self._crawler).visitor.unread(link, exchange)
        self._write(page, link, exchange, duplicate=200 <= exchange.status < 300)

    def _write(self, page: Page, link: Link, exchange: Exchange, *, duplicate: bool) -> None:
        if self._writer is None or exchange.archived or not _is_record(exchange):
            return
        about, bare = {"title": page.title} if page.title else {}, False
        if exchange.again:
            about[AGAIN] = "yes"
        if not page.is_prerequisite:
            reads = self._purpose.obeys_noarchive
            if said := page.preferences if reads else page.said_so_far:
                about["preferences"] = str(said)
                bare = reads and self._purpose.forbids(said, "archive")
        if exchange.withheld is not None or bare:
            about["withheld"] = "body"
        bare = bare or (exchange.withheld is not None and exchange.location is None)  # a redirect is its head
        exchange.archived = self._writer.write(link, exchange, duplicate=duplicate, metadata=about, bare=bare)

    def close_spider(self) -> None:
        if self._writer is not None:
            try:
                self._writer.close()
            except (StoreError, MemoryError) as error:
                scheduler_of(self._crawler).fail(error)


def _is_record(exchange: Exchange) -> bool:
    """Leaves out errors of protocols without heads, where a record says "this is what the URL holds"."""
    return bool(exchange.head) or exchange.status == 200


def _info(settings: BaseSettings) -> dict[str, str]:
    """The settings of the crawl, for readers of the archive, who need no credentials."""
    values = settings.copy_to_dict()
    written = " ".join(f"{name}={values.get(name)!r}" for name in sorted(vars(defaults)) if name.isupper())
    return {
        "software": f"webcrawl/{__version__}",
        "http-header-user-agent": str(settings["USER_AGENT"]),
        "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        "settings": text_without_credentials(written),
    }
