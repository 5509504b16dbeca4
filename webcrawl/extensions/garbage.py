"""Python's cycle collector at a crawl's pace."""

from __future__ import annotations

import atexit
import gc
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

THRESHOLDS = 50_000, 20, 50


class Garbage:
    """What exists at the start is never looked at again, and a page's own cycles some thousand pages later.

    With Python's defaults collecting takes as long as all else that Scrapy does for a request (docs/performance.md).
    """

    def __init__(self) -> None:
        self._before = gc.get_threshold()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.opened, signals.spider_opened)
        crawler.signals.connect(extension.closed, signals.spider_closed)
        return extension

    def opened(self) -> None:
        gc.freeze()
        atexit.register(gc.freeze)  # to look for cycles when all goes anyway takes 0.1 s
        gc.set_threshold(*THRESHOLDS)

    def closed(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._before)
