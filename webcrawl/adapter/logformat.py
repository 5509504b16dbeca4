"""A log formatter that leaves out Scrapy's lines about single requests: crawl.log has them."""

from __future__ import annotations

import logging
from typing import Any

from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

from webcrawl.adapter.request_trip import trip_of


class QuietLogFormatter(LogFormatter):
    """Logs errors, and nothing about pages and items."""

    def crawled(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Log nothing about an answer."""

    def scraped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Log nothing about an item that has left the pipelines."""

    def dropped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Log nothing about a dropped item, such as a duplicate body."""

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        """Log a failed download, only at DEBUG if crawl.log has its outcome.

        An exception that a middleware has raised stays an error.
        """
        trip = trip_of(request)
        entry = super().download_error(failure, request, spider, errmsg)
        is_in_crawl_log = trip is not None and trip.outcome is not None and trip.outcome.status < 0
        return {**entry, "level": logging.DEBUG} if is_in_crawl_log else entry

    def item_error(self, item: Any, *_args: Any, **_kwargs: Any) -> LogFormatterResult:
        """Log that a pipeline has failed, with the item's URL and not with its whole body."""
        name = getattr(item, "url", None) or type(item).__name__
        return {"level": logging.ERROR, "msg": "Error processing %(name)s", "args": {"name": name}}
