"""Escapes control characters in the log, which may quote foreign text."""

from __future__ import annotations

import logging
from typing import Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.json_log import formatter_for
from webcrawl.adapter.listeners import connect_extension
from webcrawl.base.readable import ReadableFormatter


class _Shared(ReadableFormatter):
    """Several crawls of a process may want it; the last one takes it away."""

    def __init__(self, inner: logging.Formatter, before: logging.Formatter | None) -> None:
        super().__init__(inner)
        self.before = before
        self.users = 0


class ReadableLog:
    """While the crawl runs, all log handlers write readable lines."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self._used: list[tuple[logging.Handler, _Shared]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(crawler.settings))

    def opened(self) -> None:
        for handler in logging.getLogger().handlers:
            formatter = handler.formatter
            if not isinstance(formatter, _Shared):
                formatter = _Shared(formatter_for(self._settings, handler), handler.formatter)
                handler.setFormatter(formatter)
            formatter.users += 1
            self._used.append((handler, formatter))

    def closed(self) -> None:
        for handler, formatter in self._used:
            formatter.users -= 1
            if not formatter.users and handler.formatter is formatter:
                handler.setFormatter(formatter.before)
        self._used.clear()
