"""Silences what Scrapy logs of single requests, a thousand per second; crawl.log has a line for
each.
"""

from __future__ import annotations

import logging
from typing import Any

from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

from webcrawl.adapter.trip import trip_of


class QuietLogFormatter(LogFormatter):
    """Silent about pages and items; errors are still logged."""

    def crawled(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """A page came."""

    def scraped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """An item left the pipelines."""

    def dropped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """A pipeline dropped an item, as the crawl does with bodies already seen."""

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        """A host that did not answer is in crawl.log; what a middleware raised is logged nowhere
        else.
        """
        trip = trip_of(request)
        said = super().download_error(failure, request, spider, errmsg)
        known = trip is not None and trip.outcome is not None and trip.outcome.status < 0
        return {**said, "level": logging.DEBUG} if known else said

    def item_error(self, item: Any, *_args: Any, **_kwargs: Any) -> LogFormatterResult:
        """A pipeline failed. The item is not logged: it is a page with its whole body."""
        name = getattr(item, "url", None) or type(item).__name__
        return {"level": logging.ERROR, "msg": "Error processing %(name)s", "args": {"name": name}}
