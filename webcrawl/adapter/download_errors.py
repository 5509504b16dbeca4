"""Errors of downloads: what errbacks expect of ours, and what those of others' handlers mean."""

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
from webcrawl.crawl.download_outcomes import Asked, Outcomes
from webcrawl.crawl.hostless import needs_no_host
from webcrawl.net.errors import (
    BadOption,
    BadUrl,
    Cancelled,
    ConnectFailed,
    ConnectionLost,
    ConnectTimeout,
    CutLate,
    CutShort,
    DnsFailed,
    EmptyAnswer,
    FetchError,
    TimedOut,
    TlsFailed,
    TlsTimeout,
    TooLarge,
)
from webcrawl.net.shortage import is_ours

# The exceptions of Scrapy that errbacks expect; the first match counts
ERRORS: tuple[tuple[type[FetchError], type[Exception]], ...] = (
    (DnsFailed, CannotResolveHostError),
    (CutShort, ResponseDataLossError),
    (CutLate, DownloadTimeoutError),
    (ConnectTimeout, DownloadTimeoutError),
    (TlsTimeout, DownloadTimeoutError),
    (ConnectFailed, DownloadConnectionRefusedError),
    (TimedOut, DownloadTimeoutError),
    (Cancelled, DownloadCancelledError),
    (TooLarge, DownloadCancelledError),
    (BadOption, NotSupported),
    (FetchError, DownloadFailedError),
)

# Errors of other handlers. Scrapy's let through some errors of Twisted's, and TLS errors come as a
# failed download.
FOREIGN: tuple[tuple[type[Exception], type[FetchError]], ...] = (
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
# How Chromium names what Playwright reports as an exception of its own.
CHROMIUM: tuple[tuple[str, type[FetchError]], ...] = (
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


def raised(error: FetchError) -> Exception:
    """Return the exception of Scrapy that stands for an error of ours; raise it from the error."""
    return next(known for ours, known in ERRORS if isinstance(error, ours))(str(error))


def error_of(error: Exception) -> FetchError | None:
    """Return our error for one of a foreign handler; None if no server can have caused it."""
    for theirs, ours in FOREIGN:
        if isinstance(error, theirs):
            return ours(str(error))
    if not type(error).__module__.startswith(_PLAYWRIGHT):
        return None
    kind = _of_browser(error)
    return kind(str(error)) if kind is not None else None


def lacks(error: Exception) -> bool:
    """Return whether our machine lacks what a connection needs; Twisted has it in `osError`."""
    if isinstance(error, OSError):
        return is_ours(error)
    if not isinstance(error, ConnectError) or not isinstance(error.osError, int):
        return False
    return is_ours(OSError(error.osError, ""))


def _of_browser(error: Exception) -> type[FetchError] | None:
    if type(error).__name__ == "TimeoutError":
        return TimedOut
    found = _NET.search(str(error))
    if found is None:
        return None
    return next((kind for name, kind in CHROMIUM if found[1].startswith(name)), None)


logger = logging.getLogger(__name__)

# How downloads by a foreign handler may fail; anything else is a mistake in code
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
        # Scrapy's stats have the names of its own exceptions
        shown = raised(error) if isinstance(error, FetchError) else error
        return global_object_name(type(shown))

    def status_of_other(self, error: Exception, request: Asked) -> int:
        if isinstance(error, UnsupportedURLSchemeError):
            return Status.UNSUPPORTED
        # A page may have written such a URL
        if needs_no_host(request.url):
            logger.warning("Error downloading %.200s: %s", request, error)
            return Status.UNEXPECTED
        if isinstance(error, EXPECTED):
            return Status.UNEXPECTED
        return super().status_of_other(error, request)


def as_scrapys(error: Exception) -> Exception:
    """Return the error as errbacks know it."""
    if not isinstance(error, FetchError):
        return error
    theirs = raised(error)
    # The log shows both: an errback knows Scrapy's, and ours says what happened
    theirs.__cause__ = error
    return theirs
