"""Frees memory that is not needed while the crawl runs (crawl/memory_trim.py)."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.values import values_of
from webcrawl.base.system import malloc_trim, resident_bytes
from webcrawl.crawl import memory_trim


class Trim(memory_trim.Trim):
    """Returns freed memory to the system."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        trim = malloc_trim()
        if trim is None:
            raise NotConfigured("this C library has no malloc_trim")
        return connect_extension(
            crawler, cls(values_of(crawler)["CHECKPOINT_INTERVAL"], trim, resident_bytes)
        )


class Garbage(memory_trim.Garbage):
    """Has Python look for reference cycles only rarely."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls())
