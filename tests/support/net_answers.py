"""Responses as bytes, and how the tests read them."""

import gzip
from itertools import pairwise

from webcrawl.net.http_answer import AnswerParser

PAGE = b"<html>" + b"hello world " * 300 + b"</html>"
ZIPPED = gzip.compress(PAGE, mtime=0)


def chunked(data, size=50, trailer=b""):
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return (
        b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
        + b"0\r\n"
        + trailer
        + b"\r\n"
    )


def head(*fields, status=b"200 OK", version=b"1.1"):
    return b"\r\n".join([b"HTTP/%b %b" % (version, status), *fields]) + b"\r\n\r\n"


def read(data, splits=(), *, truncate=100_000, close=True, bodiless=False, claim=None):
    """The message in these bytes, fed in pieces."""
    answer = AnswerParser(truncate, bodiless=bodiless, claim=claim)
    edges = [0, *sorted(min(split, len(data)) for split in splits), len(data)]
    for start, end in pairwise(edges):
        if start < end:
            message = answer.feed(data[start:end])
            if message is not None:
                return message
    return answer.lost(reset=False) if close else None


def told(message):
    wire, payload, body = message.forms()
    head = message.head
    return (
        head.status,
        head.raw,
        head.headers,
        wire,
        payload,
        body,
        message.truncated,
        message.flaws,
        message.reusable,
    )


WHOLE = {
    "length": head(b"Content-Length: %d" % len(PAGE)) + PAGE,
    "chunked": head(b"Transfer-Encoding: chunked") + chunked(PAGE),
    "trailer": head(b"Transfer-Encoding: chunked") + chunked(PAGE, trailer=b"X-Sum: 1\r\n"),
    "close": head(b"Connection: close") + PAGE,
    "1.0": head(b"Content-Type: text/html", version=b"1.0") + PAGE,
    "gzip": head(b"Content-Encoding: gzip", b"Content-Length: %d" % len(ZIPPED)) + ZIPPED,
    "gzip chunked": head(b"Content-Encoding: gzip", b"Transfer-Encoding: chunked")
    + chunked(ZIPPED, 7),
    "gzip transfer": head(b"Transfer-Encoding: gzip, chunked") + chunked(ZIPPED, 7),
    "interim": head(status=b"102 Processing")
    + head(b"A: b", status=b"103 Early Hints")
    + head(b"Content-Length: 3")
    + b"abc",
    "nothing": head(status=b"204 No Content"),
    "not modified": head(b"Content-Length: 500", b"ETag: x", status=b"304 Not Modified"),
    "LF only": head(b"Content-Length: 3").replace(b"\r", b"") + b"abc",
    "padded chunks": head(b"Transfer-Encoding: chunked") + b"3  \r\nabc\r\n0 \r\n\r\n",
    "blank lines first": b"\r\n\n\r\n" + head(b"Content-Length: 3") + b"abc",
}
