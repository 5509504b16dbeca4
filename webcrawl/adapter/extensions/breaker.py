"""Writes unexpected errors to logs/errors.log; too many end the crawl (crawl/error_breaker.py)."""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.pipelines.media import FileException

from webcrawl.adapter.crawl_end import close_spider
from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.crawl import error_breaker
from webcrawl.crawl.download_outcomes import fetch_error

DOWNLOAD_FAILED = "Error downloading"  # begins Scrapy's message
MEDIA_LOG = "scrapy.pipelines.files"  # the logger of Scrapy's FilesPipeline and ImagesPipeline


class ErrorBreaker(error_breaker.ErrorBreaker):
    """The crawl's error breaker as an extension, which counts in Scrapy's stats as well."""

    def __init__(self, crawler: Crawler, folder: Path, max_errors: int, seconds: float) -> None:
        super().__init__(folder, max_errors, seconds, partial(close_spider, crawler))
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        max_errors, seconds = values["ERROR_BREAKER"]
        return connect_extension(crawler, cls(crawler, Path(values["JOBDIR"]), max_errors, seconds))

    def opened(self) -> None:
        super().opened()
        # Under another scheduler no command changes the setting
        with contextlib.suppress(NotConfigured):
            scheduler_of(self._crawler).crawl.parts.in_force.listen(["ERROR_BREAKER"], self.change)

    def is_ours(self, record: logging.LogRecord) -> bool:
        """Return whether this crawl has logged a record, and no server can have caused it.

        Scrapy adds the spider to its records. It logs downloads that have failed, too, and files
        that its media pipelines did not get or images that they could not read, which a server can
        cause at will; crawl.log has the outcomes of the downloads.
        """
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, FileException):
            return False
        if record.name == MEDIA_LOG and error is not None and _is_of_pillow(error):
            return False
        is_of_download = str(record.msg).startswith(DOWNLOAD_FAILED)
        if is_of_download and isinstance(error, Exception) and fetch_error(error) is not None:
            return False
        spider = getattr(record, "spider", None)
        return spider is None or spider is self._crawler.spider

    def count(self) -> None:
        self._crawler.stats.inc_value("errors/unexpected")


def _is_of_pillow(error: BaseException) -> bool:
    """Return whether Pillow was at work: what it raises for a broken image has no common class."""
    return any(
        str(frame.f_globals.get("__name__")).partition(".")[0] == "PIL"
        for frame, _ in walk_tb(error.__traceback__)
    )
