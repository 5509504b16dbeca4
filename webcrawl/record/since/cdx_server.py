"""Asks a CDX server (OutbackCDX, pywb or a similar one) whether its archive has a payload.

Such a server cannot look up a payload without a URL. So the crawl asks for all captures of a host.
If there are too many, it asks for those of a folder, and then for those of the URL alone. Complete
answers are kept for later requests.
"""

from __future__ import annotations

import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import SplitResult, urlencode, urlsplit

from webcrawl.base.digest import SHA1, SHA256, algorithm, label, sha1, sha256_label
from webcrawl.base.doubling import DoublingWait
from webcrawl.base.errors import words_of
from webcrawl.base.model import EarlierCapture, Exchange
from webcrawl.store.jobdir.index_line import BadLine, date_of, read_line


def is_comparable(answer: Exchange) -> bool:
    """Return whether the payload of an answer can be compared with those of an earlier archive."""
    is_good = 200 <= answer.status < 300
    is_complete = bool(answer.payload and answer.head) and not answer.truncated
    return is_good and is_complete


def digests_of(answer: Exchange, algorithms: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield the digests of an answer's payload (True) and, if that is coded, of its body (False).

    Other crawlers store decoded bodies.
    """
    # SHA-256 only if an index has it, as Browsertrix's have: hashing costs time for every page
    if SHA1 in algorithms:
        yield answer.digest, True
    if SHA256 in algorithms:
        yield sha256_label(answer.payload), True
    # The body of a rendered page is the browser's document, and not the decoded payload
    is_coded = answer.body is not answer.payload and not answer.rendered
    if not is_coded:
        return
    if SHA1 in algorithms:
        yield label(sha1(answer.body)), False
    if SHA256 in algorithms:
        yield sha256_label(answer.body), False


SERVER_PREFIX = "cdx+"  # before a server's address in the argument `since`
# In one answer, which is 300 KB then. A host with fewer captures costs one request, and not one per
# page.
MAX_CAPTURES = 1000
MAX_ANSWER_BYTES = 4 << 20
MAX_KEPT_CAPTURES = 10_000  # 5 MB
TIMEOUT_SECONDS = 10.0  # for the connection, and for each part of the answer
# Without a request after a failure. The pause doubles with each failure; the server may ask for a
# longer one by Retry-After.
MIN_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
MAX_RETRY_AFTER_SECONDS = 3600.0
UNKNOWN_URL = "http://webcrawl.invalid/"  # for a check: no archive has it
NONE_FOUND = b"no captures found"  # earlier versions of pywb send it with status 404
# Revisit records are left out: only the archive itself has the references to their originals
QUERY_LIMITS = {"limit": MAX_CAPTURES, "filter": "!mimetype:warc/revisit"}
HEADERS = {"User-Agent": "webcrawl", "Accept-Encoding": "identity"}

# By digest: time (14 digits) and URL of the latest capture, and the digest as the server writes it
Captures = dict[str, tuple[str, str, str]]


class CdxServerError(Exception):
    """The server gave no usable answer, or is not asked for now because it gave none before."""


def parse_server_address(address: str) -> SplitResult:
    """Return the parts of a server's address. Raise ValueError if it cannot be used."""
    parts = urlsplit(address.removeprefix(SERVER_PREFIX))
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
    if not is_http or parts.port == 0:
        raise ValueError(
            "expected the address of a CDX server, such as cdx+http://localhost:8080/collection"
        )
    if parts.username is not None or parts.fragment:
        raise ValueError("the address of a CDX server must not contain a user name or a fragment")
    return parts


class CdxServer:
    """One connection to a CDX server, for one thread at a time."""

    def __init__(
        self, address: str, before: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raise ValueError if the address cannot be used. Nothing is sent yet.

        Captures from the time `before` on (14 digits) are left out. The server may index the
        archive that this crawl writes, and a kill can remove records from it: no page may refer to
        them.
        """
        self.address = address
        self._before = before
        self._clock = clock
        parts = parse_server_address(address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)
        own_query = f"{parts.query}&" if parts.query else ""
        self._target_start = f"{parts.path or '/'}?{own_query}"
        # The captures of hosts and folders, the latest used last; None if there are too many
        self._by_place: OrderedDict[str, Captures | None] = OrderedDict()
        self._kept_captures = 0
        self._is_interrupted = False
        self._algorithms: set[str] = set()  # of the digests that the server has sent
        self._pause = DoublingWait(MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self._paused_until = float("-inf")

    def find(self, url: str, answer: Exchange) -> EarlierCapture | None:
        """Return a capture with the payload or the body of this answer, or None.

        The capture is of this URL, or of another URL of its host or folder. Raise CdxServerError if
        the server gives no usable answer.
        """
        if self._clock() < self._paused_until:
            raise CdxServerError(f"{self.address}: not asked for now, because it failed")
        captures = self._ask(url)
        for digest, identical in digests_of(answer, self._algorithms):
            if digest in captures:
                stamp, captured_url, written = captures[digest]
                return EarlierCapture("", captured_url, date_of(stamp), written, identical)
        return None

    def check(self) -> None:
        """Ask for a URL that no archive has. Raise CdxServerError if the answer is not usable."""
        self._ask(UNKNOWN_URL)

    def close(self) -> None:
        """Close the connection. May be called repeatedly."""
        self._connection.close()

    def interrupt(self) -> None:
        """End the request for whose answer another thread waits."""
        self._is_interrupted = True
        # The thread that waits in `recv` gets the end of the stream. Closing would not wake it.
        connection = self._connection.sock
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _ask(self, url: str) -> Captures:
        """Return the captures near a URL. Raise CdxServerError, and pause, if that fails."""
        try:
            captures = self._captures_near(url)
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            self._connection.close()
            self._paused_until = self._clock() + max(
                self._pause.next(), getattr(error, "wait", 0.0)
            )
            raise CdxServerError(f"{self.address}: {words_of(error)}") from error
        self._pause.reset()
        return captures

    def _captures_near(self, url: str) -> Captures:
        """Return the captures of a URL's host; if there are too many, of its folder, or of itself."""
        origin = "/".join(url.split("/", 3)[:3]) + "/"
        folder = url.partition("?")[0].rpartition("/")[0] + "/"
        match_types = {origin: "host"}
        if folder != origin:
            match_types[folder] = "prefix"
        for place, match_type in match_types.items():
            if place not in self._by_place:
                self._keep(place, self._query_all(place, match_type))
            captures = self._by_place[place]
            if captures is not None:
                self._by_place.move_to_end(place)
                return captures
        lines, _ = self._query(url, {"matchType": "exact", "sort": "reverse"})
        return self._earlier_captures(lines)

    def _keep(self, place: str, captures: Captures | None) -> None:
        """Keep the captures of a host or folder, and drop those that were not used for longest."""
        self._by_place[place] = captures
        self._kept_captures += 1 + len(captures or ())
        while self._kept_captures > MAX_KEPT_CAPTURES and len(self._by_place) > 1:
            self._kept_captures -= 1 + len(self._by_place.popitem(last=False)[1] or ())

    def _query_all(self, place: str, match_type: str) -> Captures | None:
        """Return the captures of a host or folder, or None if there are too many for one answer."""
        lines, is_complete = self._query(place, {"matchType": match_type})
        return self._earlier_captures(lines) if is_complete else None

    def _query(self, url: str, parameters: dict[str, str]) -> tuple[list[bytes], bool]:
        """Return the lines of the answer to a request, and whether they are all that there are."""
        query = urlencode({"url": url, **parameters, **QUERY_LIMITS})
        data = self._fetch_with_retry(self._target_start + query)
        lines = data.splitlines(keepends=True)
        is_too_long = len(data) > MAX_ANSWER_BYTES
        if is_too_long:
            # The last line may be incomplete
            lines.pop()
        return lines, not is_too_long and len(lines) < MAX_CAPTURES

    def _earlier_captures(self, lines: list[bytes]) -> Captures:
        """Return the latest capture of each digest in these lines, before the crawl's own ones.

        Raise ValueError if there are lines, and none of them can be read.
        """
        latest: Captures = {}
        bad = 0
        for line in lines:
            try:
                capture = read_line(line)
            except BadLine:
                bad += 1
                continue
            if capture is None or not capture.has_payload:
                continue
            if capture.stamp >= self._before:
                continue
            entry = capture.stamp, capture.url, capture.written
            self._algorithms.add(algorithm(capture.digest))
            latest[capture.digest] = max(latest.get(capture.digest, entry), entry)
        if bad and bad == len(lines):
            raise ValueError(f"its answer is not an index: {lines[0][:60]!r}")
        return latest

    def _fetch_with_retry(self, target: str) -> bytes:
        """Return what `_fetch` does. Repeat the request if a kept connection was closed meanwhile."""
        is_kept = self._connection.sock is not None
        self._is_interrupted = False
        try:
            return self._fetch(target)
        except (ConnectionError, HTTPException):
            self._connection.close()
            if self._is_interrupted or not is_kept:
                raise
            return self._fetch(target)

    def _fetch(self, target: str) -> bytes:
        """Return the first MAX_ANSWER_BYTES + 1 bytes of the answer's body.

        Raise ServerRefusal for a status other than 200, except pywb's 404 for no captures. Raise
        OSError or HTTPException if the connection fails.
        """
        self._connection.request("GET", target, headers=HEADERS)
        answer = self._connection.getresponse()
        data = answer.read(MAX_ANSWER_BYTES + 1)
        has_rest = len(data) > MAX_ANSWER_BYTES
        # With a number of bytes, `read` does not report a lost connection
        if answer.length and not has_rest:
            raise IncompleteRead(data, answer.length)
        # A connection whose answer was not read to its end cannot be used again
        if has_rest or answer.will_close:
            self._connection.close()
        if answer.status == 404 and NONE_FOUND in data.lower():
            return b""
        if answer.status != 200:
            raise ServerRefusal(answer)
        return data


class ServerRefusal(ValueError):  # noqa: N818 - reads as what it is
    """The server answered with a status other than 200.

    `wait` is the number of seconds of its Retry-After header, or 0.
    """

    def __init__(self, answer: HTTPResponse) -> None:
        location = answer.headers.get("Location", "")
        pointer = f", which points to {location}" if location else ""
        super().__init__(f"status {answer.status}{pointer}")
        wait = answer.headers.get("Retry-After", "")
        self.wait = min(float(wait), MAX_RETRY_AFTER_SECONDS) if wait.isdecimal() else 0.0
