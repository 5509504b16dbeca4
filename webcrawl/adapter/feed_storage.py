"""Files of feeds: a crawl that was complete before it was started overwrites none."""

from __future__ import annotations

import logging
from itertools import count
from pathlib import Path
from typing import IO, Any, Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FileFeedStorage

from webcrawl.adapter.scheduler import FrontierScheduler

logger = logging.getLogger(__name__)


class FeedFile(FileFeedStorage):
    """With `-O` a file is overwritten when the crawl begins, as in Scrapy, unless nothing was left to do."""

    _crawler: Crawler | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None) -> Self:
        storage = cls(uri, feed_options=feed_options)
        storage._crawler = crawler
        return storage

    def open(self, spider: Spider) -> IO[bytes]:
        path, engine = Path(self.path), self._crawler.engine if self._crawler is not None else None
        scheduler = engine.scheduler if engine is not None else None
        if self.write_mode == "wb" and path.exists() and _is_complete(scheduler):
            names = (path.with_stem(f"{path.stem}.{number}") for number in count(1))
            self.path = str(next(name for name in names if not name.exists()))
            logger.warning("%s: stays as it is, for the crawl was complete; what comes now goes to %s", path, self.path)
        return super().open(spider)


def _is_complete(scheduler: object) -> bool:
    if not isinstance(scheduler, FrontierScheduler):
        return False
    return scheduler.crawl.pages > 0 and not scheduler.has_pending_requests()
