"""Scrapy's feeds, in step with checkpoints: an item is exported when its page is finished.

A page that a checkpoint leaves out, and that the next run fetches again, has no item in a feed yet.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlparse

from itemadapter import ItemAdapter, is_item
from scrapy import Item, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.misc import load_object

from webcrawl.adapter.crawl_end import LOST_ITEMS
from webcrawl.adapter.feeds import COMPRESSORS_OPTION, FeedFile, scheduler_of_crawl
from webcrawl.content.page import Page
from webcrawl.crawl.trip import page_under_way, when_finished
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

SCRAPYS_EXTENSION = "scrapy.extensions.feedexport.FeedExporter"
COMPRESSORS = frozenset(
    f"scrapy.extensions.postprocessing.{name}Plugin" for name in ("Gzip", "LZMA", "Bz2")
)
MAX_WAITING_ITEMS = 10_000  # items of a page that wait for its end
POSTPROCESSING = "postprocessing"  # Scrapy's option of a feed


class WaitingItems:
    """The items of a page that is not finished. Calling it exports them."""

    def __init__(self, export: Callable[[Any], None]) -> None:
        self.items: list[Any] = []
        self._export = export

    def __call__(self) -> None:
        """Export the items that waited."""
        items = self.items
        self.items = []
        for item in items:
            self._export(item)


class CheckpointedFeeds(FeedExporter):
    """Exports feeds in place of Scrapy's extension, unless EXTENSIONS names Scrapy's."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if SCRAPYS_EXTENSION in crawler.settings.getdict("EXTENSIONS"):
            raise NotConfigured
        return super().from_crawler(crawler)

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._has_logged_limit = False
        for uri, options in self.feeds.items():
            if POSTPROCESSING in options and self._is_file(uri):
                self._compress_in_file(uri, options)

    def _is_file(self, uri: str) -> bool:
        kind = self.storages.get(urlparse(uri).scheme, self.storages["file"])
        return isinstance(kind, type) and issubclass(kind, FeedFile)

    def _compress_in_file(self, uri: str, options: dict[str, Any]) -> None:
        """Have the file compress what is written to it, if Scrapy's own plugins would do that.

        The file knows when a checkpoint is taken. Warn of other plugins, which stay as they are.
        """
        plugins = options[POSTPROCESSING]
        # Scrapy would write a single compressed member, which cannot be truncated to a checkpoint
        if all(_path_of(plugin) in COMPRESSORS for plugin in plugins):
            options[COMPRESSORS_OPTION] = options.pop(POSTPROCESSING)
        else:
            line = (
                "FEEDS: %s: its plugins may hold items back, which are lost if the crawl is killed: "
                "remove %s to be safe"
            )
            logger.warning(line, uri, POSTPROCESSING)

    def open_spider(self, spider: Spider) -> None:
        super().open_spider(spider)
        scheduler = scheduler_of_crawl(self.crawler)
        if scheduler is not None:
            try:
                scheduler.crawl.parts.user_files.recover()
            except StoreError as error:
                scheduler.fail(error)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Keep an item until its page is finished; export an item without a page at once."""
        page = page_under_way()
        if page is None:
            self._export(item, spider)
            return
        try:
            # The spider may change the item and yield it again
            kept_item = copied(item)
        except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
            self._count_lost(error)
            return
        # The last of the page's writes, so that items keep their order among its other writes
        waiting_items = page.writes[-1] if page.writes else None
        if not isinstance(waiting_items, WaitingItems):
            waiting_items = WaitingItems(lambda item: self._export(item, spider))
            when_finished(waiting_items)
        waiting_items.items.append(kept_item)
        if len(waiting_items.items) >= MAX_WAITING_ITEMS:
            self._log_limit_once()
            waiting_items()

    def _log_limit_once(self) -> None:
        if not self._has_logged_limit:
            self._has_logged_limit = True
            line = (
                "a page has more than %d items; to limit memory, they are written to the feeds "
                "before the page is finished"
            )
            logger.info(line, MAX_WAITING_ITEMS)

    def _export(self, item: Any, spider: Spider) -> None:
        """Write an item to each feed, whether or not the others take it."""
        slots = self.slots
        try:
            for number, slot in enumerate(slots):
                # One by one: after an error Scrapy leaves out the feeds that follow, and goes on
                # with a batch that the item has completed
                self.slots = [slot]
                self._export_to_feed(item, spider)
                (slots[number],) = self.slots
        finally:
            self.slots = slots

    def _export_to_feed(self, item: Any, spider: Spider) -> None:
        """Write an item to the feed in `slots`.

        An error of the disk or of memory ends the crawl. For any other error the item is counted as
        lost.
        """
        scheduler = scheduler_of_crawl(self.crawler)
        try:
            super().item_scraped(item, spider)
        except (StoreError, OSError, MemoryError) as error:
            if scheduler is None:
                raise
            scheduler.fail(error)
        except Exception as error:  # noqa: BLE001 - as with any signal's handler, the crawl goes on
            self._count_lost(error)

    def _count_lost(self, error: Exception) -> None:
        logger.error("an item could not be exported and is missing from its feed", exc_info=error)
        self.crawler.stats.inc_value(LOST_ITEMS)


def _path_of(plugin: Any) -> str:
    kind = load_object(plugin)
    return f"{kind.__module__}.{kind.__qualname__}"


def copied(value: Any) -> Any:
    """Return a copy of an item and of the lists, sets and items within it.

    All other values are shared with the original, and so is a Page, which does not change.
    """
    if isinstance(value, list):
        return [copied(member) for member in value]
    if isinstance(value, (set, bytearray)):
        return value.copy()
    if isinstance(value, Page) or not is_item(value):
        return value
    if type(value) is dict:
        return {name: copied(member) for name, member in value.items()}
    return _copied_item(value)


def _copied_item(item: Any) -> Any:
    """Return a copy of an item with copies of its containers, as far as its fields can be set."""
    item_copy = item.copy() if isinstance(item, Item) else copy.copy(item)
    fields: Mapping[str, Any] = ItemAdapter(item_copy)
    for name, value in [*fields.items()]:
        value_copy = copied(value)
        if value_copy is not value:
            # A dataclass may be frozen; its lists are rarely changed
            with suppress(Exception):
                ItemAdapter(item_copy)[name] = value_copy
    return item_copy
