"""A CDX server, asked whether its archive has a payload: OutbackCDX, pywb, or another that answers
as they do.

None of them finds a payload without a URL. So it is asked for all captures of a host, if those are
too many for those of a folder, and only then for those of the URL alone. Whole answers are kept,
and answer later questions.
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
    return (
        200 <= answer.status < 300 and bool(answer.payload and answer.head) and not answer.truncated
    )


def digests_of(answer: Exchange, algorithms: Collection[str]) -> Iterator[tuple[str, bool]]:
    """By these algorithms, of its payload (True) and, if that is coded, of its body (False).

    Other crawlers store bodies decoded.
    """
    if SHA1 in algorithms:
        yield answer.digest, True
    if SHA256 in algorithms:
        yield sha256_label(answer.payload), True
    if answer.body is not answer.payload and not answer.rendered:
        if SHA1 in algorithms:
            yield label(sha1(answer.body)), False
        if SHA256 in algorithms:
            yield sha256_label(answer.body), False


SERVER = "cdx+"  # before its address in the argument `since`
LIMIT = 1000  # captures of one answer: 300 KB
LONGEST = 4 << 20  # bytes of one
KEPT = 10_000  # captures that are kept: 5 MB
PATIENCE = 10.0  # seconds for the connection, and for each part of the answer
# seconds without a question after a failure, doubled; if it says so
PAUSE, LONGEST_PAUSE, AT_MOST = 1.0, 60.0, 3600.0
UNKNOWN = "http://webcrawl.invalid/"
NONE_FOUND = b"no captures found"  # with status 404: so earlier versions of pywb
# Its revisit records are passed over, whoever it is: what they refer to stands only in the archive
WHICH = {"limit": LIMIT, "filter": "!mimetype:warc/revisit"}
HEADERS = {"User-Agent": "webcrawl", "Accept-Encoding": "identity"}

# by digest: stamp and URL of the latest capture, the digest as written
Captures = dict[str, tuple[str, str, str]]


class NoAnswer(Exception):  # noqa: N818 - reads as what it is
    """The server has not answered, or not as such a server does; or it is left alone because of
    that.
    """


def parsed(address: str) -> SplitResult:
    """Where the server is. ValueError, with the reason, for an address that cannot be one."""
    parts = urlsplit(address.removeprefix(SERVER))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError(
            "not the address of a CDX server, such as cdx+http://localhost:8080/collection"
        )
    if parts.username is not None or parts.fragment:
        raise ValueError("no address of a CDX server: a user's name or a fragment is in it")
    return parts


class CdxServer:
    """One connection to it, for one thread at a time.

    Captures from `before` on, as a stamp, are not this archive's.
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
        # by host or folder; None if it has too many
        self._whole: OrderedDict[str, Captures | None] = OrderedDict()
        self._kept = 0
        self._is_cut = False
        self._algorithms: set[str] = set()  # of the digests that it has, as far as is known
        self._pause = DoublingWait(PAUSE, LONGEST_PAUSE)
        self._until = float("-inf")

    def find(self, url: str, answer: Exchange) -> EarlierCapture | None:
        """A capture with what this answer has, of this URL or, as far as that is known, of another
        one nearby.
        """
        if self._clock() < self._until:
            raise NoAnswer(f"{self.address}: left alone after a failure")
        captures = self._asked(url)
        for digest, identical in digests_of(answer, self._algorithms):
            if found := captures.get(digest):
                at, where, written = found
                return EarlierCapture("", where, date_of(at), written, identical)
        return None

    def check(self) -> None:
        """Ask for a URL that nobody has. NoAnswer if that is not answered."""
        self._asked(UNKNOWN)

    def close(self) -> None:
        """May be called repeatedly."""
        self._connection.close()

    def cut(self) -> None:
        """End a question that another thread waits for."""
        self._is_cut = True
        if (waiting := self._connection.sock) is not None:
            with suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)

    def _asked(self, url: str) -> Captures:
        try:
            captures = self._of(url)
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            self._connection.close()
            self._until = self._clock() + max(self._pause.next(), getattr(error, "wait", 0.0))
            raise NoAnswer(f"{self.address}: {words_of(error)}") from error
        self._pause.reset()
        return captures

    def _of(self, url: str) -> Captures:
        origin = "/".join(url.split("/", 3)[:3]) + "/"
        folder = url.partition("?")[0].rpartition("/")[0] + "/"
        for place, how in (
            {origin: "host", folder: "prefix"}.items() if folder != origin else ((origin, "host"),)
        ):
            if place not in self._whole:
                self._keep(place, self._captures(place, {"matchType": how}, whole=True))
            if (captures := self._whole[place]) is not None:
                self._whole.move_to_end(place)
                return captures
        return self._captures(url, {"matchType": "exact", "sort": "reverse"}) or {}

    def _keep(self, place: str, captures: Captures | None) -> None:
        self._whole[place] = captures
        self._kept += 1 + len(captures or ())
        while self._kept > KEPT and len(self._whole) > 1:
            self._kept -= 1 + len(self._whole.popitem(last=False)[1] or ())

    def _captures(self, url: str, how: dict[str, str], *, whole: bool = False) -> Captures | None:
        """Return the answer to one question; with `whole` None if it is not all of it."""
        data = self._get(self._start + urlencode({"url": url, **how, **WHICH}))
        lines = data.splitlines(keepends=True)
        if len(data) > LONGEST:
            lines.pop()
        if whole and (len(lines) >= LIMIT or len(data) > LONGEST):
            return None
        found: Captures = {}
        bad = 0
        for line in lines:
            try:
                capture = read_line(line)
            except BadLine:
                bad += 1
                continue
            if capture is not None and capture.has_payload and capture.stamp < self._before:
                one = capture.stamp, capture.url, capture.written
                self._algorithms.add(algorithm(capture.digest))
                found[capture.digest] = max(found.get(capture.digest, one), one)
        if bad and bad == len(lines):
            raise ValueError(f"its answer is no index: {lines[0][:60]!r}")
        return found

    def _get(self, target: str) -> bytes:
        """The answer's body, as far as LONGEST and one byte more; a kept connection may have been
        closed meanwhile.
        """
        is_kept, self._is_cut = self._connection.sock is not None, False
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
        if answer.length and len(data) <= LONGEST:
            raise IncompleteRead(data, answer.length)
        if len(data) > LONGEST or answer.will_close:
            self._connection.close()
        if answer.status == 404 and NONE_FOUND in data.lower():
            return b""
        if answer.status != 200:
            raise ServerRefusal(answer)
        return data


class ServerRefusal(ValueError):  # noqa: N818 - reads as what it is
    """Another status than 200. `wait`: seconds for which it asks to be left alone."""

    def __init__(self, answer: HTTPResponse) -> None:
        to = answer.headers.get("Location", "")
        super().__init__(f"status {answer.status}{f', which points to {to}' if to else ''}")
        asked = answer.headers.get("Retry-After", "")
        self.wait = min(float(asked), AT_MOST) if asked.isdecimal() else 0.0
