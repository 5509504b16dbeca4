"""The end of a crawl: how to bring it about from inside, and how a failure is told."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from weakref import WeakSet

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from webcrawl.store.jobdir.stats_file import STORE_FAILED

logger = logging.getLogger(__name__)

# Reasons; `start_error` is Scrapy's, for a `start` that raised: what it had not yet asked for is
# not in the crawl.
BROKEN = frozenset({"browser_failed", "error_breaker", "no_seeds", "start_error", STORE_FAILED})
LOST_ITEMS = "feedexport/lost_items"  # among Scrapy's stats: items that an exporter did not take
HURRIED = frozenset(("shutdown", "stopped"))  # by a signal (Scrapy's) or by command: within seconds


@dataclass(slots=True)
class RunEnd:
    """The facts known so far about the end of a run."""

    begun: bool = False
    reason: str = ""
    lost: int = 0  # requests of the spider, in this run and those that were killed before
    unclosed: bool = False  # a pipeline was not waited for


class EndedBadly(Exception):  # noqa: N818 - reads as what it is
    """A crawl ended for one of these reasons; raised so that the caller's process fails too."""


_TOLD: WeakSet[BaseException] = WeakSet()


def tell(error: BaseException) -> None:
    """Log in one line why a crawl cannot be opened. Log each error only once."""
    if error not in _TOLD:
        _TOLD.add(error)
        logger.critical("%s", error)
    logging.getLogger("asyncio").addFilter(is_news)


def was_told(error: BaseException) -> bool:
    """Return whether a line has said what this error says."""
    return error in _TOLD


def is_news(record: logging.LogRecord) -> bool:
    """Return whether a record of asyncio's log is news, and no traceback of what was told."""
    error = record.exc_info[1] if record.exc_info is not None else None
    if error is None:
        return True
    return not isinstance(error, EndedBadly) and not was_told(error)


def has_lost_a_feed(crawler: Crawler) -> bool:
    """Return whether a feed lacks an item or was not stored: Scrapy only logs an error."""
    stats = crawler.stats.get_stats() if crawler.stats is not None else {}
    return LOST_ITEMS in stats or any(name.startswith("feedexport/failed_count/") for name in stats)


def close_spider(crawler: Crawler, reason: str) -> None:
    """End the crawl as soon as the requests under way are done; a second call changes nothing."""
    if crawler.engine is not None and crawler.engine.spider is not None:
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


def hush(crawler: Crawler) -> None:
    """Call it when the crawl cannot be opened: Scrapy also closes then what it has not opened.

    That is its scraper, and those of its extensions that want to have heard of the beginning.
    """
    logging.getLogger(_Hush.logger).addFilter(_Hush())
    for extension in crawler.extensions.middlewares:
        closed = getattr(extension, "spider_closed", None)
        if getattr(closed, "__module__", "").startswith("scrapy.extensions."):
            crawler.signals.disconnect(closed, signals.spider_closed)


class _Hush(logging.Filter):
    """Leaves out these tracebacks, once: a line elsewhere says why no crawl could be opened."""

    logger = "scrapy.core.engine"

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg != "Scraper close failure":
            return True
        logging.getLogger(self.logger).removeFilter(self)
        return False
