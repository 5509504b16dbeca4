"""The end of a crawl: how code of the crawl brings it about, and how a failure is reported."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from weakref import WeakSet

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

logger = logging.getLogger(__name__)

LOST_ITEMS = "feedexport/lost_items"  # among Scrapy's stats: items that an exporter did not take


@dataclass(slots=True)
class RunEnd:
    """The facts about the end of a run, as far as they are known."""

    begun: bool = False
    reason: str = ""
    lost_requests: int = 0  # of the spider, in this run and in those that were killed before it
    has_unclosed_code: bool = False  # a pipeline or listener has not closed in time, or has raised


class EndedBadly(Exception):  # noqa: N818 - reads as what it is
    """A crawl has ended with a failure.

    Raised so that the process which runs the crawl fails too.
    """


_LOGGED: WeakSet[BaseException] = WeakSet()


def log_once(error: BaseException) -> None:
    """Log in one line why a crawl cannot be opened, once for each error.

    asyncio then logs no traceback of the same error.
    """
    if error not in _LOGGED:
        _LOGGED.add(error)
        logger.critical("%s", error)
    logging.getLogger("asyncio").addFilter(is_unreported)


def was_logged(error: BaseException) -> bool:
    """Return whether `log_once` has logged this error."""
    return error in _LOGGED


def is_unreported(record: logging.LogRecord) -> bool:
    """Return whether a record of asyncio's log has an error that no other line reports.

    A filter for that log, which would repeat such errors as tracebacks.
    """
    error = record.exc_info[1] if record.exc_info is not None else None
    if error is None:
        return True
    return not isinstance(error, EndedBadly) and not was_logged(error)


def has_lost_a_feed(crawler: Crawler) -> bool:
    """Return whether a feed lacks an item or was not stored. Scrapy only logs both."""
    stats = crawler.stats.get_stats()
    return LOST_ITEMS in stats or any(name.startswith("feedexport/failed_count/") for name in stats)


def close_spider(crawler: Crawler, reason: str) -> None:
    """End the crawl as soon as the requests under way are done; a second call changes nothing."""
    if crawler.engine.spider is not None:
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


def silence_failed_opening(crawler: Crawler) -> None:
    """Keep Scrapy from logging further errors after the crawl could not be opened.

    Scrapy then closes its scraper, which was never opened, and calls `spider_closed` of extensions
    whose `spider_opened` it has not called. Both would log tracebacks.
    """
    logging.getLogger(_SilenceOnce.logger).addFilter(_SilenceOnce())
    for extension in crawler.extensions.middlewares:
        closed = getattr(extension, "spider_closed", None)
        if getattr(closed, "__module__", "").startswith("scrapy.extensions."):
            crawler.signals.disconnect(closed, signals.spider_closed)


class _SilenceOnce(logging.Filter):
    """Drops one traceback of the scraper's: another line says why no crawl could be opened."""

    logger = "scrapy.core.engine"

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg != "Scraper close failure":
            return True
        logging.getLogger(self.logger).removeFilter(self)
        return False
