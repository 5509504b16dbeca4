"""What Scrapy says of single requests: nothing, at a thousand a second. crawl.log has a line for each."""

from __future__ import annotations

import logging
from typing import Any

from scrapy import Request, Spider
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure


class QuietLogFormatter(LogFormatter):
    """Silent about pages and items; errors are still told."""

    def crawled(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """A page came."""

    def scraped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """An item left the pipelines."""

    def dropped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """A pipeline wanted no more of an item: how a body already seen ends."""

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        """A host did not answer: that is in crawl.log. What a middleware raised nobody else tells."""
        known = request.meta.get("outcome")
        said = super().download_error(failure, request, spider, errmsg)
        return {**said, "level": logging.DEBUG} if known is not None and known.status < 0 else said

    def item_error(self, item: Any, *_args: Any, **_kwargs: Any) -> LogFormatterResult:
        """A pipeline failed. The item itself is a page with its body, up to DOWNLOAD_TRUNCATE bytes of it."""
        name = getattr(item, "url", None) or type(item).__name__
        return {"level": logging.ERROR, "msg": "Error processing %(name)s", "args": {"name": name}}
