"""Escapes control characters in the log, which may quote foreign text."""

from __future__ import annotations

import logging
from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import listening
from webcrawl.base.readable import ReadableFormatter


class _Shared(ReadableFormatter):
    """Several crawls of a process may want it; the last one takes it away."""

    def __init__(self, before: logging.Formatter | None) -> None:
        super().__init__(before or logging.Formatter())
        self.before = before
        self.users = 0


class ReadableLog:
    """While the crawl runs, all log handlers write readable lines."""

    def __init__(self) -> None:
        self._used: list[tuple[logging.Handler, _Shared]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return listening(crawler, cls())

    def opened(self) -> None:
        for handler in logging.getLogger().handlers:
            formatter = handler.formatter
            if not isinstance(formatter, _Shared):
                formatter = _Shared(handler.formatter)
                handler.setFormatter(formatter)
            formatter.users += 1
            self._used.append((handler, formatter))

    def closed(self) -> None:
        for handler, formatter in self._used:
            formatter.users -= 1
            if not formatter.users and handler.formatter is formatter:
                handler.setFormatter(formatter.before)
        self._used.clear()
