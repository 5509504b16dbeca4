"""Errors of downloads: the exceptions of Scrapy that errbacks expect, and what those of others' handlers mean."""

from __future__ import annotations

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
from twisted.internet.error import ConnectError, ConnectionClosed

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

# What others raise. Scrapy's handlers let through some errors of Twisted's, and TLS errors come as a failed download.
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
    """The exception of Scrapy that stands for an error of ours; raise it from the error."""
    return next(known for ours, known in ERRORS if isinstance(error, ours))(str(error))


def error_of(error: Exception) -> FetchError | None:
    """Our error for an exception of somebody else's handler; None if no server can have caused it."""
    kind = next((ours for theirs, ours in FOREIGN if isinstance(error, theirs)), None)
    if kind is None and type(error).__module__.startswith(_PLAYWRIGHT):
        kind = _of_browser(error)
    return kind(str(error)) if kind is not None else None


def lacks(error: Exception) -> bool:
    """Return whether our own machine lacks something that a connection needs; Twisted keeps the number in `osError`."""
    if isinstance(error, OSError):
        return is_ours(error)
    return isinstance(error, ConnectError) and isinstance(error.osError, int) and is_ours(OSError(error.osError, ""))


def _of_browser(error: Exception) -> type[FetchError] | None:
    if type(error).__name__ == "TimeoutError":
        return TimedOut
    found = _NET.search(str(error))
    return next((kind for name, kind in CHROMIUM if found and found[1].startswith(name)), None)
