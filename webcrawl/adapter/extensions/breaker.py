"""Writes unexpected errors to logs/errors.log, and ends the crawl when there are too many (Nielsen)."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections import deque
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.crawl_end import close_spider
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.readable import ReadableFormatter
from webcrawl.store.regular import appending

logger = logging.getLogger(__name__)

LINE = "%(asctime)s %(name)s: %(message)s"


class _Errors(logging.FileHandler):
    """A log file that says once, in one line, that it cannot be written to: the disk is full, or the folder is gone."""

    _said = False

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(appending(self.baseFilename), self.encoding, self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)  # it opens the file here
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's names
        if not self._said:
            self._said = True
            logger.warning("%s: not written: %s", self.baseFilename, sys.exc_info()[1])


class ErrorBreaker(logging.Handler):
    """A log handler that treats every error logged with a traceback as unexpected.

    What a page or a server can cause at will has an outcome and a counter, and never comes here.
    """

    def __init__(self, crawler: Crawler, folder: Path, many: int, seconds: float) -> None:
        super().__init__(logging.ERROR)
        self._crawler, self._many, self._seconds = crawler, many, seconds
        self._times: deque[float] = deque(maxlen=many)
        self._path = folder / "logs" / "errors.log"
        self._file: logging.FileHandler | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        many, seconds = values["ERROR_BREAKER"]
        breaker = cls(crawler, Path(values["JOBDIR"]), many, seconds)
        crawler.signals.connect(breaker.opened, signals.spider_opened)
        crawler.signals.connect(breaker.closed, signals.spider_closed)
        return breaker

    def opened(self) -> None:
        with contextlib.suppress(OSError):  # then it cannot be written to, which is said where it is tried
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _Errors(self._path, delay=True, encoding="utf-8", errors="backslashreplace")
        self._file.setFormatter(ReadableFormatter(logging.Formatter(LINE)))
        logging.getLogger().addHandler(self)
        with contextlib.suppress(NotConfigured):  # under somebody else's scheduler nothing changes
            scheduler_of(self._crawler).crawl.parts.in_force.listen(["ERROR_BREAKER"], self._change)

    def _change(self, values: Mapping[str, tuple[int, float]]) -> None:
        self._many, self._seconds = values["ERROR_BREAKER"]
        self._times = deque(self._times, maxlen=self._many)

    def closed(self) -> None:
        logging.getLogger().removeHandler(self)
        if self._file is not None:
            with contextlib.suppress(OSError):  # what it could not write before, which was said
                self._file.close()

    def emit(self, record: logging.LogRecord) -> None:
        if not record.exc_info or self._file is None:
            return
        self._file.emit(record)
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value("errors/unexpected")
        now = time.monotonic()
        self._times.append(now)
        if len(self._times) == self._many and now - self._times[0] <= self._seconds:
            close_spider(self._crawler, "error_breaker")
