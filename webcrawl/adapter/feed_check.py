"""Finds feeds that cannot be stored. Scrapy finds out later, when it has an item or at the end, and only logs it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage
from scrapy.settings import BaseSettings, Settings


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
        if "://" not in str(uri) or str(uri).startswith("file:"):
            _check_file(FileFeedStorage(str(uri)).path)


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
