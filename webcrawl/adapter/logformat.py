"""Silences what Scrapy logs of single requests: crawl.log has a line for each."""

from __future__ import annotations

import logging
from typing import Any

from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

from webcrawl.adapter.request_trip import trip_of


class QuietLogFormatter(LogFormatter):
    """Silent about pages and items; errors are still logged."""

    def crawled(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Log nothing of a page that came."""

    def scraped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Log nothing of an item that left the pipelines."""

    def dropped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Log nothing of a dropped item, such as a body already seen."""

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        """Log what a middleware raised; silent hosts only at DEBUG: crawl.log has them."""
        trip = trip_of(request)
        said = super().download_error(failure, request, spider, errmsg)
        known = trip is not None and trip.outcome is not None and trip.outcome.status < 0
        return {**said, "level": logging.DEBUG} if known else said

    def item_error(self, item: Any, *_args: Any, **_kwargs: Any) -> LogFormatterResult:
        """Log that a pipeline failed, without the item: it is a page with its whole body."""
        name = getattr(item, "url", None) or type(item).__name__
        return {"level": logging.ERROR, "msg": "Error processing %(name)s", "args": {"name": name}}
