"""Other people's download handlers: which may run, what their errors mean, what their documents
become.
"""

import errno

import pytest
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.settings import Settings
from twisted.internet.error import ConnectBindError, ConnectionLost, NoRouteError

from tests.support.warc_crawl import exchange
from webcrawl.adapter.download_errors import error_of, is_lack_of_ours, scrapys_error_of
from webcrawl.adapter.foreign_handlers import UnusableHandler, check_handlers, document_of
from webcrawl.base.model import Status
from webcrawl.content.html.encodings import decode, encoding_of
from webcrawl.net.errors import NoSocket

SCRAPYS = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"


def settings(**more):
    found = Settings()
    found.setmodule("webcrawl.settings")
    found.setdict(more)
    return found


class TestAllowed:
    def test_our_own_need_no_permission(self):
        """The crawl's own handlers go through the guard."""
        check_handlers(settings(), ())

    @pytest.mark.parametrize("handler", [SCRAPYS, HTTP11DownloadHandler])
    def test_any_other_must_be_named(self, handler):
        """A handler that goes round the guard, as a path or as a class, is refused unless it is
        named.
        """
        given = settings(DOWNLOAD_HANDLERS={"https": handler})

        with pytest.raises(
            UnusableHandler, match=f"{SCRAPYS} .https. connects without the address guard"
        ):
            check_handlers(given, ())
        check_handlers(given, (SCRAPYS,))

    def test_a_scheme_of_its_own_leaves_the_others(self):
        """DOWNLOAD_HANDLERS for one scheme does not bring back Scrapy's handlers for the others."""
        check_handlers(
            settings(DOWNLOAD_HANDLERS={"gopher": "webcrawl.adapter.handlers.GopherHandler"}), ()
        )

    @pytest.mark.parametrize(
        "path", ["no.such.Handler", "webcrawl.adapter.handlers.NoHandler", "nodots"]
    )
    def test_what_cannot_be_imported_is_refused(self, path):
        """A handler that is not there is one line at the start, not an error for each URL."""
        with pytest.raises(UnusableHandler, match=f"DOWNLOAD_HANDLERS: {path} cannot be imported"):
            check_handlers(settings(DOWNLOAD_HANDLERS={"http": path}), ())


class Error(Exception):
    """Playwright's, by its name."""

    __module__ = "playwright._impl._errors"


TimedOut = type("TimeoutError", (Error,), {"__module__": Error.__module__})

KNOWN = [
    (CannotResolveHostError("x"), Status.DNS_FAILED, CannotResolveHostError),
    (DownloadConnectionRefusedError("x"), Status.CONNECT_FAILED, DownloadConnectionRefusedError),
    (DownloadTimeoutError("x"), Status.TIMEOUT, DownloadTimeoutError),
    (DownloadFailedError("x"), Status.CONNECTION_LOST, DownloadFailedError),
    (ResponseDataLossError("x"), Status.CONNECTION_LOST, DownloadFailedError),
    (DownloadCancelledError("x"), Status.UNEXPECTED, DownloadCancelledError),
    (UnsupportedURLSchemeError("x"), Status.UNSUPPORTED, DownloadFailedError),
    (NoRouteError(), Status.CONNECT_FAILED, DownloadConnectionRefusedError),
    (ConnectionLost(), Status.CONNECTION_LOST, DownloadFailedError),
    (TimeoutError(), Status.TIMEOUT, DownloadTimeoutError),
    (ConnectionResetError("x"), Status.CONNECT_FAILED, DownloadConnectionRefusedError),
    (
        Error("Page.goto: net::ERR_NAME_NOT_RESOLVED at x"),
        Status.DNS_FAILED,
        CannotResolveHostError,
    ),
    (
        Error("Page.goto: net::ERR_CONNECTION_REFUSED at x"),
        Status.CONNECT_FAILED,
        DownloadConnectionRefusedError,
    ),
    (
        Error("Page.goto: net::ERR_CONNECTION_TIMED_OUT at x"),
        Status.CONNECT_FAILED,
        DownloadTimeoutError,
    ),
    (
        Error("Page.goto: net::ERR_CERT_DATE_INVALID at x"),
        Status.CONNECT_FAILED,
        DownloadConnectionRefusedError,
    ),
    (Error("Page.goto: net::ERR_EMPTY_RESPONSE at x"), Status.CONNECTION_LOST, DownloadFailedError),
    (TimedOut("Timeout 30000ms exceeded"), Status.TIMEOUT, DownloadTimeoutError),
]


class TestErrors:
    @pytest.mark.parametrize(("error", "status", "kind"), KNOWN, ids=lambda one: repr(one)[:60])
    def test_what_a_server_can_cause_has_a_status(self, error, status, kind):
        """An exception of another handler is booked like ours, and errbacks get one of Scrapy's."""
        ours = error_of(error)

        assert ours.status == status
        assert type(scrapys_error_of(ours)) is kind

    @pytest.mark.parametrize(
        "error", [ZeroDivisionError(), Error("Target closed"), OSError(errno.EIO, "x")]
    )
    def test_anything_else_is_a_mistake(self, error):
        """What no server can have caused stays what it is, and is reported with its traceback."""
        assert error_of(error) is None
        assert not is_lack_of_ours(error)

    @pytest.mark.parametrize(
        "error", [OSError(errno.EMFILE, "x"), ConnectBindError(errno.EMFILE, "x")]
    )
    def test_a_lack_of_ours_is_no_host_s(self, error):
        """A lack of descriptors is recognised in Python's and in Twisted's form."""
        assert is_lack_of_ours(error)
        assert NoSocket("x").status == Status.UNTRIED


class TestDocuments:
    @pytest.mark.parametrize(
        "content_type",
        ["text/html", "text/html; charset=utf-8", "text/html; charset=windows-1251", ""],
    )
    @pytest.mark.parametrize(
        "text", ["<p>\u4e2d\u00e9", "<meta charset=big5><p>\u4e2d\u00e9", "<p>plain"]
    )
    def test_a_document_is_read_as_it_was(self, content_type, text):
        """A browser's document is UTF-8 and is read as that, whatever the header or its markup
        declares.
        """
        answer = exchange(headers=[(b"Content-Type", content_type.encode())])
        data = document_of(text, answer)

        assert decode(data, encoding_of(data, content_type, answer.url)) == text

    def test_a_lone_surrogate_is_no_obstacle(self):
        """What UTF-8 cannot hold becomes a question mark."""
        assert (
            document_of(
                "a\ud800b", exchange(headers=[(b"Content-Type", b"text/html;charset=utf-8")])
            )
            == b"a?b"
        )
