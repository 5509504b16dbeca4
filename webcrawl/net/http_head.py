"""The head of a response: its end in the stream, its exact bytes, parsed by llhttp."""

from __future__ import annotations

import re
from dataclasses import dataclass

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from webcrawl.net.errors import BadHead, HeadTooLong, NotHttp
from webcrawl.net.http_mend import mend

MAX_HEAD = 65536  # bytes of all heads of a response, including 1xx; browsers allow 256 KiB, Apache sends 8
MAX_HEADERS = 200  # fields
LEAST_HEAD = len(b"HTTP/1.1 200\n\n")

END_OF_HEAD = re.compile(rb"\n\r?\n")  # RFC 9112 2.2: a recipient may accept a bare LF as line end
_START = b"HTTP/"


@dataclass(slots=True)
class Head:
    """A parsed head; `raw` is its exact bytes."""

    raw: bytes
    status: int
    headers: list[tuple[bytes, bytes]]
    version: str


def check_start(data: bytes) -> None:
    """Raise NotHttp as soon as the first bytes cannot begin a status line."""
    if data[:5] != _START[: len(data)]:
        raise NotHttp(f"the response starts with {data[:40]!r}")


def read_head(raw: bytes) -> Head:
    """Parse a complete head; one that llhttp rejects is repaired and parsed again."""
    if b"\0" in raw:
        raise BadHead("NUL in the head")
    try:
        head = _parse(raw)
    except HttpParserError:
        head = _mended(raw)
    if len(head.headers) > MAX_HEADERS:
        raise HeadTooLong(f"{len(head.headers)} fields")
    if head.status < 100:
        raise BadHead(f"status {head.status}")
    return head


def _mended(raw: bytes) -> Head:
    try:
        head = _parse(mend(raw))
    except HttpParserError as error:
        raise BadHead(str(error)) from error
    head.raw = raw
    return head


class _Fields:
    """Receives llhttp's callbacks for a head."""

    __slots__ = ("complete", "headers")

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.complete = True


def _parse(raw: bytes) -> Head:
    fields = _Fields()
    parser = HttpResponseParser(fields)
    try:
        parser.feed_data(raw)
    except (HttpParserError, HttpParserUpgrade):
        # llhttp stops at a 101, with or without Upgrade; the caller rejects its status.
        if not fields.complete or parser.get_status_code() != 101:
            raise
    if not fields.complete:
        raise HttpParserError("the head does not end where its empty line is")
    return Head(raw, parser.get_status_code(), fields.headers, parser.get_http_version())
