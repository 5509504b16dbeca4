"""Escapes control characters in the log, which may quote foreign text."""

from __future__ import annotations

import logging
from typing import Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.json_log import formatter_for
from webcrawl.adapter.listeners import connect_extension
from webcrawl.base.readable import ReadableFormatter


class _SharedFormatter(ReadableFormatter):
    """The formatter of a log handler, shared by the crawls of a process.

    The last one removes it.
    """

    def __init__(self, inner: logging.Formatter, previous: logging.Formatter | None) -> None:
        super().__init__(inner)
        self.previous = previous
        self.users = 0


class ReadableLog:
    """Has all log handlers escape control characters while the crawl runs."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self._handlers: list[tuple[logging.Handler, _SharedFormatter]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(crawler.settings))

    def opened(self) -> None:
        """Wrap the formatter of each log handler, unless another crawl has done so."""
        for handler in logging.getLogger().handlers:
            formatter = handler.formatter
            if not isinstance(formatter, _SharedFormatter):
                formatter = _SharedFormatter(
                    formatter_for(self._settings, handler), handler.formatter
                )
                handler.setFormatter(formatter)
            formatter.users += 1
            self._handlers.append((handler, formatter))

    def closed(self) -> None:
        for handler, formatter in self._handlers:
            formatter.users -= 1
            if not formatter.users and handler.formatter is formatter:
                handler.setFormatter(formatter.previous)
        self._handlers.clear()
