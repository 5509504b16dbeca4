"""Escapes control characters in the log, which may quote foreign text."""

from __future__ import annotations

import logging
from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import listening
from webcrawl.base.readable import ReadableFormatter


class ReadableLog:
    """While the crawl runs, all log handlers write readable lines."""

    def __init__(self) -> None:
        self._before: list[tuple[logging.Handler, logging.Formatter | None]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return listening(crawler, cls())

    def opened(self) -> None:
        for handler in logging.getLogger().handlers:
            self._before.append((handler, handler.formatter))
            handler.setFormatter(ReadableFormatter(handler.formatter or logging.Formatter()))

    def closed(self) -> None:
        for handler, formatter in self._before:
            handler.setFormatter(formatter)
        self._before.clear()
