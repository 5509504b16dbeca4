"""Reports a failure of the crawl: in one line if the system refused something, with a traceback if it is a bug."""

from __future__ import annotations

import logging

from webcrawl.base.resource_exhaustion import lack
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.store.errors import StoreError


def as_failure(error: Exception, saved: str) -> tuple[StoreError, bool]:
    """The error as the crawl keeps it, and whether its line says all; `saved`: after which checkpoint it came."""
    if isinstance(error, StoreError):
        return error, True
    refused = lack(error) or (str(error) if isinstance(error, OSError | HiveError) else "")
    failure = StoreError(f"{refused}: nothing {saved} is kept" if refused else f"half a change: {error!r}")
    failure.__cause__ = error
    return failure, bool(refused)


def hush() -> None:
    """Call it when the crawl cannot be opened: Scrapy also closes its scraper then, which it has not opened."""
    logging.getLogger(_Hush.logger).addFilter(_Hush())


class _Hush(logging.Filter):
    """Leaves out, once, the tracebacks of that; why the crawl could not be opened is a line elsewhere."""

    logger = "scrapy.core.engine"

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg != "Scraper close failure":
            return True
        logging.getLogger(self.logger).removeFilter(self)
        return False
