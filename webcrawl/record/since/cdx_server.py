"""Asks a CDX server whether its archive has a payload: OutbackCDX, pywb, or a similar server.

These servers do not find a payload without a URL. So the crawl asks for all captures of a host. If
there are too many, it asks for those of a folder, and then for those of the URL alone. Complete
answers are kept for later questions.
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


def is_payload(answer: Exchange) -> bool:
    """Return whether this is the kind of answer whose payload may be in an earlier archive."""
    is_good = 200 <= answer.status < 300
    is_complete = bool(answer.payload and answer.head) and not answer.truncated
    return is_good and is_complete


def digests_of(answer: Exchange, algorithms: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield the digests of an answer's payload (True) and, if that is coded, of its body (False).

    Other crawlers store decoded bodies.
    """
    # SHA-256 only where an index has it, as Browsertrix's have: it costs every page
    if SHA1 in algorithms:
        yield answer.digest, True
    if SHA256 in algorithms:
        yield sha256_label(answer.payload), True
    # The body of a rendered page is the browser's document, and no form of the payload
    is_coded = answer.body is not answer.payload and not answer.rendered
    if not is_coded:
        return
    if SHA1 in algorithms:
        yield label(sha1(answer.body)), False
    if SHA256 in algorithms:
        yield sha256_label(answer.body), False


SERVER = "cdx+"  # before a server's address in the argument `since`
# Captures of one answer: 300 KB. A host with no more costs one question, and not one per page.
LIMIT = 1000
LONGEST = 4 << 20  # bytes of one answer
KEPT = 10_000  # captures that are kept: 5 MB
PATIENCE = 10.0  # seconds for the connection, and for each part of the answer
# Seconds without a question after a failure: the first time, at most after doubling, and at most if
# the server asks for them
PAUSE, LONGEST_PAUSE, AT_MOST = 1.0, 60.0, 3600.0
UNKNOWN = "http://webcrawl.invalid/"
NONE_FOUND = b"no captures found"  # earlier versions of pywb send it with status 404
# Revisit records are passed over: only the archive has the reference to their originals
WHICH = {"limit": LIMIT, "filter": "!mimetype:warc/revisit"}
HEADERS = {"User-Agent": "webcrawl", "Accept-Encoding": "identity"}

# By digest: stamp and URL of the latest capture, and the digest as written
Captures = dict[str, tuple[str, str, str]]


class CdxServerError(Exception):
    """The server has given no usable answer, or it is left alone for a while because of that."""


def parsed(address: str) -> SplitResult:
    """Return the parts of a server's address. Raise ValueError if it cannot be one."""
    parts = urlsplit(address.removeprefix(SERVER))
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
    if not is_http or parts.port == 0:
        raise ValueError(
            "expected the address of a CDX server, such as cdx+http://localhost:8080/collection"
        )
    if parts.username is not None or parts.fragment:
        raise ValueError("the address of a CDX server must not contain a user name or a fragment")
    return parts


class CdxServer:
    """One connection to a CDX server, for one thread at a time.

    Captures with the stamp `before` or a later one are left out: an index of the archive that is
    being written would let a page refer to a record that a kill takes back.
    """

    def __init__(
        self, address: str, before: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.address = address
        self._before = before
        self._clock = clock
        parts = parsed(address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=PATIENCE)
        self._start = f"{parts.path or '/'}?{parts.query + '&' if parts.query else ''}"
        # By host or folder; None if it has too many
        self._whole: OrderedDict[str, Captures | None] = OrderedDict()
        self._kept = 0
        self._is_cut = False
        self._algorithms: set[str] = set()  # of the digests that the server has sent
        self._pause = DoublingWait(PAUSE, LONGEST_PAUSE)
        self._until = float("-inf")

    def find(self, url: str, answer: Exchange) -> EarlierCapture | None:
        """Return a capture with the payload or body of this answer, or None.

        The capture is of this URL, or of another one of the host or folder.
        """
        if self._clock() < self._until:
            raise CdxServerError(f"{self.address}: not asked for now, because it failed")
        captures = self._asked(url)
        for digest, identical in digests_of(answer, self._algorithms):
            if digest in captures:
                at, where, written = captures[digest]
                return EarlierCapture("", where, date_of(at), written, identical)
        return None

    def check(self) -> None:
        """Ask for a URL that no archive has. Raise NoAnswer if there is no usable answer."""
        self._asked(UNKNOWN)

    def close(self) -> None:
        """Close the connection. May be called repeatedly."""
        self._connection.close()

    def cut(self) -> None:
        """End a question that another thread waits for."""
        self._is_cut = True
        # The thread that waits in `recv` gets an end of the stream; closing would not wake it
        waiting = self._connection.sock
        if waiting is not None:
            with suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)

    def _asked(self, url: str) -> Captures:
        try:
            captures = self._of(url)
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            self._connection.close()
            self._until = self._clock() + max(self._pause.next(), getattr(error, "wait", 0.0))
            raise CdxServerError(f"{self.address}: {words_of(error)}") from error
        self._pause.reset()
        return captures

    def _of(self, url: str) -> Captures:
        """Return the captures of the URL's host, or else of its folder, or else of the URL."""
        origin = "/".join(url.split("/", 3)[:3]) + "/"
        folder = url.partition("?")[0].rpartition("/")[0] + "/"
        places = {origin: "host"}
        if folder != origin:
            places[folder] = "prefix"
        for place, how in places.items():
            if place not in self._whole:
                self._keep(place, self._captures(place, {"matchType": how}, whole=True))
            captures = self._whole[place]
            if captures is not None:
                self._whole.move_to_end(place)
                return captures
        return self._captures(url, {"matchType": "exact", "sort": "reverse"}) or {}

    def _keep(self, place: str, captures: Captures | None) -> None:
        self._whole[place] = captures
        self._kept += 1 + len(captures or ())
        while self._kept > KEPT and len(self._whole) > 1:
            self._kept -= 1 + len(self._whole.popitem(last=False)[1] or ())

    def _captures(self, url: str, how: dict[str, str], *, whole: bool = False) -> Captures | None:
        """Return the answer to one question; with `whole`, None if the answer is not complete."""
        data = self._get(self._start + urlencode({"url": url, **how, **WHICH}))
        lines = data.splitlines(keepends=True)
        is_too_long = len(data) > LONGEST
        if is_too_long:
            # The last line may be cut
            lines.pop()
        is_complete = not is_too_long and len(lines) < LIMIT
        if whole and not is_complete:
            return None
        return self._captures_in(lines)

    def _captures_in(self, lines: list[bytes]) -> Captures:
        """Return the earlier captures in the lines of an index, the latest of each digest.

        Raise ValueError if not a single line can be read.
        """
        found: Captures = {}
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
            one = capture.stamp, capture.url, capture.written
            self._algorithms.add(algorithm(capture.digest))
            found[capture.digest] = max(found.get(capture.digest, one), one)
        if bad and bad == len(lines):
            raise ValueError(f"its answer is not an index: {lines[0][:60]!r}")
        return found

    def _get(self, target: str) -> bytes:
        """Return the first LONGEST + 1 bytes of the answer's body.

        If the server has closed a kept connection meanwhile, the question is asked again.
        """
        is_kept = self._connection.sock is not None
        self._is_cut = False
        try:
            return self._got(target)
        except (ConnectionError, HTTPException):
            self._connection.close()
            if self._is_cut or not is_kept:
                raise
            return self._got(target)

    def _got(self, target: str) -> bytes:
        self._connection.request("GET", target, headers=HEADERS)
        answer = self._connection.getresponse()
        data = answer.read(LONGEST + 1)
        has_rest = len(data) > LONGEST
        # `read` of a number of bytes reports no lost connection
        if answer.length and not has_rest:
            raise IncompleteRead(data, answer.length)
        # On a connection whose answer is not read to its end nothing can be sent
        if has_rest or answer.will_close:
            self._connection.close()
        if answer.status == 404 and NONE_FOUND in data.lower():
            return b""
        if answer.status != 200:
            raise ServerRefusal(answer)
        return data


class ServerRefusal(ValueError):  # noqa: N818 - reads as what it is
    """A status other than 200. `wait`: the seconds that the server asks to be left alone."""

    def __init__(self, answer: HTTPResponse) -> None:
        to = answer.headers.get("Location", "")
        pointer = f", which points to {to}" if to else ""
        super().__init__(f"status {answer.status}{pointer}")
        asked = answer.headers.get("Retry-After", "")
        self.wait = min(float(asked), AT_MOST) if asked.isdecimal() else 0.0
