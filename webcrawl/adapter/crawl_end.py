"""The end of a crawl: how to bring it about from inside, which ends are failures, and how a failure is told."""

from __future__ import annotations

import logging
import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from traceback import FrameSummary, extract_stack, extract_tb
from types import FrameType
from typing import Any
from weakref import WeakSet

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from webcrawl.base.errors import lack
from webcrawl.base.own_code import OwnCodeError
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.stats_file import STORE_FAILED

logger = logging.getLogger(__name__)

# Reasons; `start_error` is Scrapy's, for a `start` that raised: what it had not yet asked for is not in the crawl.
BROKEN = frozenset({"browser_failed", "error_breaker", "no_seeds", "start_error", STORE_FAILED})
FINISHED = "finished"  # Scrapy's: nothing is left to do
_NOT_THE_USERS = (  # ours, Python's, what is installed, what has no file
    f"{Path(__file__).parents[1]}{os.sep}",
    *(f"{sysconfig.get_path(kind)}{os.sep}" for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",
)
LOST_ITEMS = "feedexport/lost_items"  # among Scrapy's stats: items that an exporter did not take
HURRIED = frozenset(("shutdown", "stopped"))  # by a signal (Scrapy's) or by command: within seconds


class EndedBadly(Exception):  # noqa: N818 - reads as what it is
    """Raised to whoever waits for a crawl that ended for one of these reasons, so that its process fails too."""


_TOLD: WeakSet[BaseException] = WeakSet()


def tell(error: BaseException) -> None:
    """Log, in one line, why a crawl cannot be opened; once, whoever catches the error later."""
    if error not in _TOLD:
        _TOLD.add(error)
        logger.critical("%s", error)
    logging.getLogger("asyncio").addFilter(is_news)


def was_told(error: BaseException) -> bool:
    """Return whether a line has said what this error says."""
    return error in _TOLD


def is_news(record: logging.LogRecord) -> bool:
    """A filter for asyncio's log: Scrapy leaves to it what nobody awaits, and it prints a traceback."""
    error = record.exc_info[1] if record.exc_info is not None else None
    return error is None or not (isinstance(error, EndedBadly) or was_told(error))


def has_lost_a_feed(crawler: Crawler) -> bool:
    """Return whether a feed lacks an item, or could not be stored at its end: Scrapy has only an error in the log."""
    stats = crawler.stats.get_stats() if crawler.stats is not None else {}
    return LOST_ITEMS in stats or any(name.startswith("feedexport/failed_count/") for name in stats)


def close_spider(crawler: Crawler, reason: str) -> None:
    """Ends the crawl as soon as the requests under way are done; a second call changes nothing."""
    if crawler.engine is not None and crawler.engine.spider is not None:
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


def as_failure(error: Exception, saved: str) -> tuple[StoreError, bool]:
    """The error as the crawl keeps it, and whether its line says all; `saved`: after which checkpoint it came.

    What the system refused is one line; anything else is a bug, and has a traceback.
    """
    if isinstance(error, StoreError):
        return error, True
    refused = lack(error) or (str(error) if isinstance(error, OSError | HiveError) else "")
    words = str(error) if isinstance(error, OwnCodeError) else repr(error)
    failure = StoreError(f"{refused}: nothing {saved} is kept" if refused else f"half a change: {words}{where(error)}")
    failure.__cause__ = error
    return failure, bool(refused)


def where(error: BaseException) -> str:
    """The last line of code that is neither ours nor a library's: a filter's or prioritizer's of the user's own."""
    line = _of_the_user(extract_tb(error.__traceback__))
    return f" in {line}" if line else ""


def place(frame: FrameType, below: int = 0) -> str:
    """Return the last such line of a running thread; without one, the last line of all.

    `below`: so many of its first lines started the event loop, as the user's own program may; they do not count.
    """
    lines = extract_stack(frame)
    return _of_the_user(lines[below:]) or _line(lines[-1])


def depth(frame: FrameType | None) -> int:
    """Return how many lines of a thread led to this frame, itself included."""
    lines = 0
    while frame is not None:
        lines, frame = lines + 1, frame.f_back
    return lines


def suspended(coroutine: Any) -> str:
    """The last such line in which a coroutine waits; empty if it is not known."""
    lines: list[FrameSummary] = []
    while coroutine is not None:
        frame, coroutine = _next(coroutine)
        if frame is not None:
            lines += extract_stack(frame, limit=1)
    return _of_the_user(lines)


def _next(coroutine: Any) -> tuple[FrameType | None, Any]:
    """Its frame, and what it waits for."""
    for kind, awaited in (("cr", "await"), ("gi", "yieldfrom"), ("ag", "await")):
        if hasattr(coroutine, f"{kind}_frame"):
            return getattr(coroutine, f"{kind}_frame"), getattr(coroutine, f"{kind}_{awaited}")
    return None, None


def _of_the_user(lines: Iterable[FrameSummary]) -> str:
    theirs = [one for one in lines if not one.filename.startswith(_NOT_THE_USERS)]
    return _line(theirs[-1]) if theirs else ""


def _line(line: FrameSummary) -> str:
    return f"{line.name} ({line.filename}, line {line.lineno})"


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
    """Leaves out, once, the tracebacks of that; why the crawl could not be opened is a line elsewhere."""

    logger = "scrapy.core.engine"

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg != "Scraper close failure":
            return True
        logging.getLogger(self.logger).removeFilter(self)
        return False
