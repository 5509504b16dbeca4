"""Feeds (`-o pages.jsonl`): early checks, files that are part of checkpoints, and readable rows.

Scrapy notices that a feed cannot be stored when it has an item, or at the end, and only logs it. A
row with every field of a page would have its body three times: in base64, as text, and in the
links.
"""

from __future__ import annotations

import codecs
import csv
import io
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, cast
from xml.sax.saxutils import XMLGenerator

from itemadapter import ItemAdapter
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.exporters import (
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    XmlItemExporter,
)
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object
from scrapy.utils.serialize import ScrapyJSONEncoder

from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.base.errors import CannotStart
from webcrawl.base.readable import in_sheet
from webcrawl.content.page import Page
from webcrawl.store.jobdir.own_files import is_own
from webcrawl.store.user_files import UserFile

if TYPE_CHECKING:
    from scrapy.exporters import BaseItemExporter

    class Exporter(BaseItemExporter):  # noqa: D101 - for type checkers only
        def export_item(self, item: Any) -> None: ...
else:
    Exporter = object

logger = logging.getLogger(__name__)

# The option `postprocessing` of a feed under another name, for FeedStream instead of Scrapy
COMPRESSORS_OPTION = "webcrawl_compressed"
DIALECT_OPTIONS = frozenset(
    (
        "delimiter",
        "dialect",
        "doublequote",
        "escapechar",
        "lineterminator",
        "quotechar",
        "quoting",
        "skipinitialspace",
    )
)


# XML 1.0, 2.2: all other characters, even as &#11;, make a file that no parser reads
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class BadFeed(Exception):  # noqa: N818 - reads as what it is
    """A feed cannot be stored. The message is one line."""


def check_feeds(settings: BaseSettings) -> None:
    """Raise BadFeed if a feed cannot be stored."""
    # Scrapy would only log the error, and crawl without any feed. Each feed is tried alone, so that
    # the message can name it.
    for uri, options in settings.getdict("FEEDS").items():
        single_feed = Settings(settings)
        single_feed.set("FEEDS", {str(uri): options}, "cmdline")
        with _collected_log() as messages:
            try:
                FeedExporter(Crawler(Spider, single_feed))
            except NotConfigured as error:
                raise BadFeed(f"FEEDS: {uri}: cannot be stored: {' '.join(messages)}") from error
        encoding = options.get("encoding") or settings["FEED_EXPORT_ENCODING"] or "utf-8"
        _check_encoding(str(uri), encoding)
        if _is_local(str(uri)):
            _check_file(FileFeedStorage(str(uri)).path)


def _is_local(uri: str) -> bool:
    return "://" not in uri or uri.startswith("file:")


def check_own_files(settings: BaseSettings, jobdir: Path) -> None:
    """Raise CannotStart if the log or a feed is a file that the crawl itself writes in JOBDIR."""
    log = settings["LOG_FILE"]
    if log and is_own(Path(log), jobdir):
        raise CannotStart(
            f"LOG_FILE = {log}: the crawl itself writes a file of this name; choose another one"
        )
    for uri in map(str, settings.getdict("FEEDS")):
        if _is_local(uri) and is_own(Path(FileFeedStorage(uri).path), jobdir):
            raise CannotStart(
                f"FEEDS: {uri}: the crawl itself writes a file of this name; choose another one"
            )


def _check_encoding(uri: str, encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise BadFeed(f"FEEDS: {uri}: cannot be stored: unknown encoding {encoding}") from error


def _check_file(name: str) -> None:
    """Raise BadFeed if a file cannot be written to. Make its folder, as Scrapy would do later.

    Of a name with parameters, such as %(time)s, only the folder before the first one is known.
    """
    path = Path(name)
    before, parameter, _ = name.partition("%(")
    is_whole_name = not parameter
    folder = path.parent if is_whole_name else Path(f"{before}x").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFeed(
            f"FEEDS: {name}: cannot be stored: {error.filename}: {error.strerror}"
        ) from error
    if is_whole_name and path.is_dir():
        raise BadFeed(f"FEEDS: {name}: cannot be stored: it is a directory")
    place = path if is_whole_name and path.exists() else folder
    if not os.access(place, os.W_OK):
        raise BadFeed(f"FEEDS: {name}: cannot be stored: {place} is not writable")


class _Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def _collected_log() -> Iterator[list[str]]:
    """Collect the errors that Scrapy logs about feeds while the context is open, and log none."""
    logger = logging.getLogger("scrapy.extensions.feedexport")
    collected = _Collected()
    before = logger.propagate
    logger.addHandler(collected)
    logger.propagate = False
    try:
        yield collected.lines
    finally:
        logger.propagate = before
        logger.removeHandler(collected)


class FeedStream(io.RawIOBase):
    """A local file that exporters write to, and that is part of checkpoints.

    As Scrapy writes a feed, two kills left 47 of 100 items: those in its buffer were lost, and
    those after the checkpoint came twice.

    Compressed data ends a member at each checkpoint, as if several files had been joined, which all
    programs that read .gz, .bz2 and .xz accept.
    """

    def __init__(self, file: UserFile, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.name = str(file.path)
        self._file = file
        self._options = options
        self._compressors = [load_object(path) for path in options.get(COMPRESSORS_OPTION) or ()]
        self._head: Any = None  # the first compressor of the present member, None between members
        file.settle = self._end_member

    @property
    def user_file(self) -> UserFile:
        """Return the file that is written, as checkpoints know it."""
        return self._file

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        """Return True, as Scrapy's file does: an encoding then writes its mark only once."""
        return True

    def tell(self) -> int:
        return self._file.tell()

    def write(self, data: Any) -> int:
        """Write through the compressors, if there are any, and return the number of bytes accepted."""
        data = bytes(data)
        self._file.keep(data)
        if not self._compressors:
            return self._file.write(data)
        if self._head is None:
            self._head = self._file
            for compressor in reversed(self._compressors):
                self._head = compressor(self._head, self._options)
        self._head.write(data)
        return len(data)

    def _end_member(self) -> None:
        """End the compressed member. Called before each checkpoint and at the end."""
        head = self._head
        self._head = None
        if head is not None:
            head.close()

    def close(self) -> None:
        if not self.closed:
            try:
                self._file.close()
            finally:
                super().close()


class FeedFile(FileFeedStorage):
    """A feed in a local file, which a resumed crawl continues at the length of its checkpoint.

    As in Scrapy, `-O` overwrites the file when the crawl begins, unless the crawl was complete.
    """

    def __init__(
        self, uri: str, *, feed_options: dict[str, Any] | None = None, crawler: Crawler
    ) -> None:
        super().__init__(uri, feed_options=feed_options)
        self._crawler = crawler
        self._options = feed_options or {}

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> Self:
        return cls(uri, feed_options=feed_options, crawler=crawler)

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the file for the exporter, or one with a free name if it must not be overwritten.

        Devices and pipes, and files of a run that is no crawl, are opened as in Scrapy.
        """
        scheduler = scheduler_of_crawl(self._crawler)
        if scheduler is None or _is_special(self.path):
            return super().open(spider)
        files = scheduler.crawl.parts.user_files
        path = Path(self.path).absolute()
        overwrite = self.write_mode == "wb" and not files.knows(path)
        has_feed_of_complete_crawl = path.exists() and scheduler.was_complete
        if overwrite and has_feed_of_complete_crawl:
            path = _free_name(path)
            line = (
                "%s was left unchanged, because the crawl was already complete; new items go to %s"
            )
            logger.warning(line, self.path, path)
            self.path = str(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return cast("IO[bytes]", FeedStream(files.open(path, overwrite=overwrite), self._options))


def _is_special(path: str) -> bool:
    """Return whether a path exists and is no file, but a device, a pipe or a folder."""
    return os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113


def _free_name(path: Path) -> Path:
    """Return the first of `pages.1.jsonl`, `pages.2.jsonl`, … that does not exist."""
    names = (path.with_stem(f"{path.stem}.{number}") for number in count(1))
    return next(name for name in names if not name.exists())


# Scrapy counts stored feeds under this name: feedexport/success_count/…
FeedFile.__name__ = FileFeedStorage.__name__


def scheduler_of_crawl(crawler: Crawler) -> FrontierScheduler | None:
    """Return the crawler's scheduler if it is the frontier's, or None in a run that is no crawl."""
    scheduler = crawler.engine.scheduler
    return scheduler if isinstance(scheduler, FrontierScheduler) else None


def row_of(page: Page) -> dict[str, Any]:
    """Return a page as a row of a feed: its URL, what a reader sees, and its links."""
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
    """A mixin for Scrapy's exporters that writes pages as rows, and other items as they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        file = args[0] if args else kwargs.get("file")
        # Read now, because CsvItemExporter sets `fields_to_export` with its first row
        self._has_chosen_fields = self.fields_to_export is not None
        self._feed = file.user_file if isinstance(file, FeedStream) else None

    @property
    def _continued_file(self) -> UserFile | None:
        """Return the file if an earlier run of this crawl has begun it, or None."""
        return self._feed if self._feed is not None and self._feed.is_continued else None

    def export_item(self, item: Any) -> None:
        if isinstance(item, Page) and not self._has_chosen_fields:
            item = row_of(item)
        super().export_item(item)


class Csv(PageRows, CsvItemExporter):
    """`-o pages.csv`, safe to open in a spreadsheet although its texts come from anywhere."""

    _is_page = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self._continued_file is not None and self.include_headers_line:
            dialect = {name: value for name, value in kwargs.items() if name in DIALECT_OPTIONS}
            self._continue_columns(self._continued_file.first, dialect)

    def _continue_columns(self, header: bytes, dialect: dict[str, Any]) -> None:
        """Take over the columns of a continued file, and write no second header.

        Columns that nobody has chosen are those in the header. Of a long header only the beginning
        is kept: then a new header is written, because rows would lack the other columns.
        """
        if not self.fields_to_export:
            # What follows the newline may be half a character of the first row
            line, newline, _ = header.decode(self.encoding or "utf-8", "replace").partition("\n")
            if not newline:
                return
            try:
                (names,) = csv.reader([line], **dialect)
            except (ValueError, csv.Error):
                return
            self.fields_to_export = names
            self._autodetected_fields = True
        self.include_headers_line = False

    def export_item(self, item: Any) -> None:
        self._is_page = isinstance(item, Page)
        super().export_item(item)

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        written = super().serialize_field(field, name, value)
        # A spreadsheet would evaluate a text that begins like a formula
        return in_sheet(written) if self._is_page else written


class Json(PageRows, JsonItemExporter):
    """`-o pages.json`."""

    def start_exporting(self) -> None:
        if self._continued_file is None:
            super().start_exporting()
        else:
            # A comma comes before each item but the first
            self.first_item = self._continued_file.last.rstrip().endswith(b"[")

    def finish_exporting(self) -> None:
        # So that a later run can remove the closing bracket, and continue
        if self._feed is not None:
            self._feed.freeze()
        super().finish_exporting()


class JsonLines(PageRows, JsonLinesItemExporter):
    """`-o pages.jsonl`."""


class Xml(PageRows, XmlItemExporter):
    """`-o pages.xml`, whatever characters the texts have."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.xg = _ReadableXml(self.stream, encoding=self.encoding or "utf-8")

    def start_exporting(self) -> None:
        if self._continued_file is None:
            super().start_exporting()

    def finish_exporting(self) -> None:
        if self._feed is not None:
            self._feed.freeze()
        super().finish_exporting()


class _ReadableXml(XMLGenerator):
    """Writes U+FFFD in place of characters that XML cannot have, such as NUL and vertical tab."""

    def characters(self, content: str) -> None:
        super().characters(NOT_IN_XML.sub("\ufffd", content))


# They would fill the memory of a Redis server, and the archive has them
FIELDS_LEFT_OUT = frozenset(("body", "text"))
encode = ScrapyJSONEncoder().encode


def to_json(item: Any) -> str:
    """Return the JSON of a page without its body, or of any other item as Scrapy writes it."""
    return str(encode(_json_fields(item) if isinstance(item, Page) else item))


def _json_fields(page: Page) -> dict[str, Any]:
    adapter = ItemAdapter(page)
    return {
        name: _serialized(adapter, name)
        for name in adapter.field_names()
        if name not in FIELDS_LEFT_OUT
    }


def _serialized(adapter: ItemAdapter, name: str) -> Any:
    serializer = adapter.get_field_meta(name).get("serializer")
    return serializer(adapter[name]) if serializer is not None else adapter[name]
