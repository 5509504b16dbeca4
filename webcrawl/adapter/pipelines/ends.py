"""Mercator's hook for visited URLs: a function of yours is told how each URL ended (docs/extending.md)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from scrapy.crawler import Crawler

from webcrawl.adapter.pipelines.output import is_plain
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.base.errors import lack
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.trip import PAGE
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)


def on_end(crawler: Crawler, hook: Callable[[Link, Outcome, Exchange | None], object]) -> None:
    """Calls `hook` with the log line of each URL, fetched or not; for a pipeline's or extension's `open_spider`.

    A URL that was not asked for, or had no answer, has no Exchange. An error of the hook's own is logged, and costs
    nothing else. A command that is no crawl, such as `scrapy parse --pipelines`, has no ends to tell of.
    """
    if is_plain(crawler):
        return
    name = getattr(hook, "__qualname__", repr(hook))

    def told(link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        another = PAGE.set(None)  # what the hook writes is this URL's, whose page is booked, and not another's
        try:
            hook(link, outcome, exchange)
        except Exception as error:
            if isinstance(error, StoreError) or lack(error):
                raise
            logger.exception("%s: %s", name, link.url)
        finally:
            PAGE.reset(another)

    scheduler_of(crawler).crawl.parts.log.hearers.append(told)
