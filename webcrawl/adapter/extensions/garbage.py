"""Tunes Python's cycle collector for a crawl."""

from __future__ import annotations

import atexit
import gc
from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import listening

THRESHOLDS = 50_000, 20, 50


class Garbage:
    """Excludes all objects that exist at the start, and collects cycles only every few thousand pages.

    With Python's defaults collecting takes as long as all else that Scrapy does for a request (docs/performance.md).
    """

    def __init__(self) -> None:
        self._before = gc.get_threshold()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return listening(crawler, cls())

    def opened(self) -> None:
        gc.freeze()
        atexit.register(gc.freeze)  # a last search for cycles at exit would take 0.1 s
        gc.set_threshold(*THRESHOLDS)

    def closed(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._before)
