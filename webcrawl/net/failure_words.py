"""A failed request in words, with what would mend it: for seeds, whose fate is told at once."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec

from webcrawl.base.loading import missing
from webcrawl.base.url_text import host_of
from webcrawl.net.errors import (
    AddressRefused,
    CertificateRefused,
    ConnectFailed,
    ConnectTimeout,
    DnsFailed,
    EmptyAnswer,
    FetchError,
    Http2Only,
    NotHttp,
    PortRefused,
    TimedOut,
    TlsFailed,
    TlsTimeout,
)
from webcrawl.net.guard import special_network
from webcrawl.urls.host_names import suffixes_of

# Endings that are meant by a misspelt one
ENDS = (
    "com",
    "org",
    "net",
    "edu",
    "gov",
    "info",
    "io",
    "dev",
    "app",
    "de",
    "fr",
    "uk",
    "nl",
    "eu",
    "ch",
    "jp",
)
ALIKE = 0.6  # of difflib: one letter wrong, or two that changed places, in a short ending
NEAR = 0.8  # the same, of whole names
LONGEST_ERROR_TEXT = 200  # characters of an error of the system's
UNCHOSEN = ", though it did not choose HTTP/2 in the handshake"

WORDS: tuple[tuple[type[FetchError], str], ...] = (
    (NotHttp, "the server does not speak HTTP"),
    (EmptyAnswer, "the server closed the connection without an answer"),
    (TimedOut, "no answer in time"),
    (ConnectTimeout, "the server did not answer in time when the crawl tried to connect"),
    (TlsTimeout, "the server did not complete the TLS handshake in time"),
)


def without_http2_library() -> str:
    """Return the line that says what to install for HTTP/2; empty if nothing is missing."""
    return "" if find_spec("h2") is not None else missing("h2")


def lack_for_http2(*, secure: bool) -> str:
    """Return what is missing for HTTP/2, in words; empty if it is the setting."""
    if secure:
        return without_http2_library()
    return "this crawler speaks HTTP/2 only over TLS; did you mean https://?"


def in_words(error: FetchError, url: str, others: Iterable[str] = ()) -> str:
    """Return what went wrong, in one line. `others`: hosts that may have been meant."""
    if isinstance(error, AddressRefused) and error.address:
        return refused_address(error.address, error.reason, host_of(url), error.allowed)
    if isinstance(error, DnsFailed):
        return _unresolved(error, host_of(url), others)
    server = url.split("/", 3)[2]
    return f"{server}: {_server_failure(error, url)}"


def _unresolved(error: DnsFailed, host: str, others: Iterable[str]) -> str:
    said = str(error)[:LONGEST_ERROR_TEXT]
    is_denied = error.permanent  # only such a name can be a misspelt one
    meant = guess(host, others) if is_denied else ""
    return f"{said}; did you mean {meant}?" if meant else said


def _server_failure(error: FetchError, url: str) -> str:
    """Return what went wrong with the server of this URL, to follow its name."""
    text = str(error)[:LONGEST_ERROR_TEXT]
    if isinstance(error, PortRefused):
        return f"{text}; add it to PORTS_ALLOWED to allow it"
    if isinstance(error, Http2Only):
        return f"the server speaks only HTTP/2{_way_to_http2(error, url)}"
    if isinstance(error, ConnectFailed):
        return _unconnected(error, text)
    if isinstance(error.__cause__, ssl.SSLError):  # such as a certificate of ours that is wanted
        return f"the TLS connection broke off after the handshake ({str(error.__cause__)[:LONGEST_ERROR_TEXT]})"
    return _by_kind(error, text)


def _way_to_http2(error: Http2Only, url: str) -> str:
    """Return what would let the crawl in, to follow the fact that the server speaks only HTTP/2."""
    lack = lack_for_http2(secure=url.startswith("https:"))
    if lack:
        return f"; {lack}"
    return "; -s HTTP2=needed allows HTTP/2" if error.off else UNCHOSEN


def _unconnected(error: ConnectFailed, text: str) -> str:
    """Return why there is no connection to a server, to follow its name."""
    if isinstance(error, CertificateRefused):
        return f"{text}; -s DOWNLOAD_VERIFY_CERTIFICATES=0 accepts any certificate"
    if isinstance(error, TlsFailed) and not isinstance(error, TlsTimeout):
        if "ALERT" in text:  # that is TLS
            return f"the server refused the TLS handshake ({text})"
        return f"the server does not speak TLS ({text}); did you mean http://?"
    if isinstance(error.__cause__, ConnectionRefusedError):
        return "connection refused: no server is listening there"
    return _by_kind(error, text)


def _by_kind(error: FetchError, text: str) -> str:
    """Return what is said of all errors of its kind, or else what it says itself."""
    return next((words for kind, words in WORDS if isinstance(error, kind)), text)


def refused_address(address: str, reason: str, host: str, allowed: Iterable[str]) -> str:
    """Return the guard's verdict, with the setting that would open the way.

    The setting keeps open what it opens now.
    """
    where = f"{host} resolves to {address}, which is"
    if host.strip("[]") == address:
        where = f"{address} is"
    # A setting given once more replaces the value before
    networks = ",".join((*allowed, special_network(address)))
    return f"{where} {reason}: -s PRIVATE_NETWORKS_ALLOWED={networks} lets the crawl in"


def guess(host: str, others: Iterable[str]) -> str:
    """Return the name that was probably meant; empty if none is near."""
    near = get_close_matches(host, [name for name in others if name != host], 1, NEAR)
    if near:
        return near[0]
    name, _, end = host.rpartition(".")
    if not name or suffixes_of(host.rstrip(".")).public:
        return ""
    ends = get_close_matches(end, ENDS, 1, ALIKE)
    return f"{name}.{ends[0]}" if ends else ""
