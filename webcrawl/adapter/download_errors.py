"""Errors of downloads: Scrapy's for ours, which errbacks get, and ours for those of other handlers."""

from __future__ import annotations

import logging
import re

from OpenSSL.SSL import Error as TlsError
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.utils.python import global_object_name
from twisted.internet.error import ConnectError, ConnectionClosed

from webcrawl.base.model import Status
from webcrawl.crawl.download_outcomes import Outcomes, RequestLike
from webcrawl.crawl.hostless import needs_no_host
from webcrawl.net.errors import (
    BadOption,
    BadUrl,
    BodyTimedOut,
    BodyTruncated,
    Cancelled,
    ConnectFailed,
    ConnectionLost,
    ConnectTimeout,
    DnsFailed,
    EmptyAnswer,
    FetchError,
    TimedOut,
    TlsFailed,
    TlsTimeout,
    TooLarge,
)
from webcrawl.net.shortage import is_ours

# The exception of Scrapy's that errbacks get for each error of ours; the first match counts
SCRAPYS_ERRORS: tuple[tuple[type[FetchError], type[Exception]], ...] = (
    (DnsFailed, CannotResolveHostError),
    (BodyTruncated, ResponseDataLossError),
    (BodyTimedOut, DownloadTimeoutError),
    (ConnectTimeout, DownloadTimeoutError),
    (TlsTimeout, DownloadTimeoutError),
    (ConnectFailed, DownloadConnectionRefusedError),
    (TimedOut, DownloadTimeoutError),
    (Cancelled, DownloadCancelledError),
    (TooLarge, DownloadCancelledError),
    (BadOption, NotSupported),
    (FetchError, DownloadFailedError),
)

# Our error for each error of another handler; the first match counts. Scrapy's own handlers let
# some errors of Twisted's through.
OUR_ERRORS: tuple[tuple[type[Exception], type[FetchError]], ...] = (
    (CannotResolveHostError, DnsFailed),
    (DownloadConnectionRefusedError, ConnectFailed),
    (DownloadTimeoutError, TimedOut),
    (DownloadCancelledError, Cancelled),
    (DownloadFailedError, ConnectionLost),
    (ResponseDataLossError, ConnectionLost),
    (UnsupportedURLSchemeError, BadUrl),
    (ConnectError, ConnectFailed),
    (ConnectionClosed, ConnectionLost),
    (TlsError, TlsFailed),
    (TimeoutError, TimedOut),
    (ConnectionError, ConnectFailed),
)
# Our error for the beginning of an error's name in Chromium, which Playwright reports in a message
CHROMIUM_ERRORS: tuple[tuple[str, type[FetchError]], ...] = (
    ("NAME_", DnsFailed),
    ("CONNECTION_TIMED_OUT", ConnectTimeout),
    ("TIMED_OUT", TimedOut),
    ("CERT_", TlsFailed),
    ("SSL_", TlsFailed),
    ("EMPTY_RESPONSE", EmptyAnswer),
    ("CONNECTION_REFUSED", ConnectFailed),
    ("CONNECTION_FAILED", ConnectFailed),
    ("ADDRESS_", ConnectFailed),
    ("UNSAFE_PORT", BadUrl),
    ("INVALID_", ConnectionLost),
    ("CONNECTION_", ConnectionLost),
    ("HTTP2_", ConnectionLost),
)
_NET = re.compile(r"net::ERR_([A-Z0-9_]+)")
_PLAYWRIGHT = "playwright."


def scrapys_error_of(error: FetchError) -> Exception:
    """Return the exception of Scrapy's for an error of ours.

    The caller raises it from the error.
    """
    kind = next(theirs for ours, theirs in SCRAPYS_ERRORS if isinstance(error, ours))
    return kind(str(error))


def error_of(error: Exception) -> FetchError | None:
    """Return our error for one of another handler, or None if no server can have caused it."""
    for theirs, ours in OUR_ERRORS:
        if isinstance(error, theirs):
            return ours(str(error))
    if not type(error).__module__.startswith(_PLAYWRIGHT):
        return None
    kind = _error_of_browser(error)
    return kind(str(error)) if kind is not None else None


def is_lack_of_ours(error: Exception) -> bool:
    """Return whether an error says that our machine lacks what a connection needs, such as sockets."""
    if isinstance(error, OSError):
        return is_ours(error)
    # Twisted keeps the number of the system's error
    if not isinstance(error, ConnectError) or not isinstance(error.osError, int):
        return False
    return is_ours(OSError(error.osError, ""))


def _error_of_browser(error: Exception) -> type[FetchError] | None:
    """Return the class of our error for one of Playwright's, or None if there is none."""
    if type(error).__name__ == "TimeoutError":
        return TimedOut
    match = _NET.search(str(error))
    if match is None:
        return None
    return next((kind for prefix, kind in CHROMIUM_ERRORS if match[1].startswith(prefix)), None)


logger = logging.getLogger(__name__)

# Failures of downloads by another handler. Any other error is a mistake in code.
EXPECTED_ERRORS = (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)


class ScrapyOutcomes(Outcomes):
    """The outcomes of downloads through Scrapy, which also has errors of its own."""

    def name_of(self, error: Exception) -> str:
        """Return the dotted name that Scrapy's stats have for an error: of Scrapy's own exception."""
        return global_object_name(
            type(scrapys_error_of(error) if isinstance(error, FetchError) else error)
        )

    def status_of_other(self, error: Exception, request: RequestLike) -> int:
        """Return the status of an error of Scrapy, a handler or a library.

        An error that is not expected of a download is logged with its traceback.
        """
        if isinstance(error, UnsupportedURLSchemeError):
            return Status.UNSUPPORTED
        # A page may have written such a URL
        if needs_no_host(request.url):
            logger.warning("Error downloading %.200s: %s", request, error)
            return Status.UNEXPECTED
        if isinstance(error, EXPECTED_ERRORS):
            return Status.UNEXPECTED
        return super().status_of_other(error, request)


def as_scrapys(error: Exception) -> Exception:
    """Return the error as errbacks get it: Scrapy's exception for an error of ours."""
    if not isinstance(error, FetchError):
        return error
    theirs = scrapys_error_of(error)
    # So the log shows ours as well, which says what has happened
    theirs.__cause__ = error
    return theirs
