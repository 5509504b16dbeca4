"""How downloads end of which Scrapy, or somebody else's handler, has raised the error."""

from __future__ import annotations

import logging

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.utils.python import global_object_name

from webcrawl.adapter.download_errors import raised
from webcrawl.base.model import Status
from webcrawl.crawl.download_outcomes import Asked, Outcomes
from webcrawl.crawl.hostless import needs_no_host
from webcrawl.net.errors import FetchError

logger = logging.getLogger(__name__)

# How downloads by somebody else's handler may fail; anything else is a mistake in code
EXPECTED = (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)


class ScrapyOutcomes(Outcomes):
    """Knows Scrapy's errors, and names ours as Scrapy does."""

    def name_of(self, error: Exception) -> str:
        return global_object_name(type(raised(error) if isinstance(error, FetchError) else error))

    def status_of_other(self, error: Exception, request: Asked) -> int:
        if isinstance(error, UnsupportedURLSchemeError):
            return Status.UNSUPPORTED
        if needs_no_host(request.url):  # a page may have written it
            logger.warning("Error downloading %.200s: %s", request, error)
            return Status.UNEXPECTED
        if isinstance(error, EXPECTED):
            return Status.UNEXPECTED
        return super().status_of_other(error, request)


def as_scrapys(error: Exception) -> Exception:
    """The error as errbacks know it."""
    if not isinstance(error, FetchError):
        return error
    theirs = raised(error)
    theirs.__cause__ = error
    return theirs
