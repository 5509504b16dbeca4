"""Feeds (`-o pages.jsonl`): those that cannot be stored are found early, files are kept, and pages are readable rows.

Scrapy finds out that a feed cannot be stored when it has an item, or at the end, and only logs it. A row with every
field of a page would be its body three times over: in base64, as text, and in the links.
"""

from __future__ import annotations

import codecs
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter, XmlItemExporter
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage
from scrapy.settings import BaseSettings, Settings

from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.base.readable import in_sheet
from webcrawl.content.page import Page

if TYPE_CHECKING:
    from scrapy.exporters import BaseItemExporter

    class Exporter(BaseItemExporter):  # noqa: D101 - for type checkers only
        def export_item(self, item: Any) -> None: ...
else:
    Exporter = object

logger = logging.getLogger(__name__)


class BadFeed(Exception):  # noqa: N818 - reads as what it is
    """A feed that cannot be stored; the message is one line."""


def check_feeds(settings: BaseSettings) -> None:
    """Raises BadFeed."""
    for uri, options in settings.getdict("FEEDS").items():
        one = Settings(settings)
        one.set("FEEDS", {str(uri): options}, "cmdline")
        with _said() as said:
            try:
                FeedExporter(Crawler(Spider, one))
            except NotConfigured as error:
                raise BadFeed(f"FEEDS: {uri}: cannot be stored: {' '.join(said)}") from error
        _check_encoding(str(uri), options.get("encoding") or settings["FEED_EXPORT_ENCODING"] or "utf-8")
        if "://" not in str(uri) or str(uri).startswith("file:"):
            _check_file(FileFeedStorage(str(uri)).path)


def _check_encoding(uri: str, encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise BadFeed(f"FEEDS: {uri}: cannot be stored: Python knows no encoding {encoding}") from error


def _check_file(name: str) -> None:
    """Makes the folder, as Scrapy does later, and looks at the file, as far as the name has no parameters."""
    path = Path(name)
    known = "%(" not in name
    folder = path.parent if known else Path(name.partition("%(")[0] + "x").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFeed(f"FEEDS: {name}: cannot be stored: {error.filename}: {error.strerror}") from error
    if known and path.is_dir():
        raise BadFeed(f"FEEDS: {name}: cannot be stored: it is a directory")
    place = path if known and path.exists() else folder
    if not os.access(place, os.W_OK):
        raise BadFeed(f"FEEDS: {name}: cannot be stored: {place} is not writable")


class _Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def _said() -> Iterator[list[str]]:
    """Collects what Scrapy logs of feeds: the log is not set up yet."""
    logger, collected = logging.getLogger("scrapy.extensions.feedexport"), _Collected()
    before = logger.propagate
    logger.addHandler(collected)
    logger.propagate = False
    try:
        yield collected.lines
    finally:
        logger.propagate = before
        logger.removeHandler(collected)


class FeedFile(FileFeedStorage):
    """With `-O` a file is overwritten when the crawl begins, as in Scrapy, unless nothing was left to do."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None, crawler: Crawler) -> None:
        super().__init__(uri, feed_options=feed_options)
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None) -> Self:
        return cls(uri, feed_options=feed_options, crawler=crawler)

    def open(self, spider: Spider) -> IO[bytes]:
        path, engine = Path(self.path), self._crawler.engine
        if self.write_mode == "wb" and path.exists() and engine is not None and _is_complete(engine.scheduler):
            names = (path.with_stem(f"{path.stem}.{number}") for number in count(1))
            self.path = str(next(name for name in names if not name.exists()))
            logger.warning("%s: stays as it is, for the crawl was complete; what comes now goes to %s", path, self.path)
        return super().open(spider)


def _is_complete(scheduler: object) -> bool:
    if not isinstance(scheduler, FrontierScheduler):
        return False
    return scheduler.crawl.parts.counters["pages"] > 0 and not scheduler.has_pending_requests()


def row_of(page: Page) -> dict[str, Any]:
    """The address, what a reader sees, and where the links lead."""
    return {
        "url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        "title": page.title,
        "text": page.visible_text,
        "links": list(dict.fromkeys(link.url for link in page.links if link.url)),
        "depth": page.depth,
        "via": page.via,
        "fetched_at": page.fetched_at,
    }


class PageRows(Exporter):
    """A mixin for Scrapy's exporters. Items of other kinds pass as they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._chosen = self.fields_to_export is not None  # CsvItemExporter sets it with its first row

    def export_item(self, item: Any) -> None:
        super().export_item(row_of(item) if isinstance(item, Page) and not self._chosen else item)


class Csv(PageRows, CsvItemExporter):
    """`-o pages.csv`. Spreadsheets open it, and strangers write its titles and texts."""

    _is_page = False

    def export_item(self, item: Any) -> None:
        self._is_page = isinstance(item, Page)
        super().export_item(item)

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        written = super().serialize_field(field, name, value)
        return in_sheet(written) if self._is_page else written


class Json(PageRows, JsonItemExporter):
    """`-o pages.json`."""


class JsonLines(PageRows, JsonLinesItemExporter):
    """`-o pages.jsonl`."""


class Xml(PageRows, XmlItemExporter):
    """`-o pages.xml`."""
