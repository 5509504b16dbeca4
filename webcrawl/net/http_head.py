"""The head of a response: its end in the stream, its exact bytes, parsed by llhttp.

Broken heads are repaired the way browsers read them; the parser still decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from webcrawl.net.errors import BadHead, HeadTooLong, Http2Only, NotHttp

_STATUS_LINE = re.compile(rb"http/([0-9])(?:\.([0-9]))?[ \t]+([0-9]{3})(?![0-9])[ \t]*(.*)", re.IGNORECASE)
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# RFC 9112 2.2: a bare CR is replaced with a space; so are other controls. NUL is rejected before.
_SPACED = bytes(32 if (code < 32 and code != 9) or code == 127 else code for code in range(256))
_LENGTH, _CODING = b"content-length", b"transfer-encoding"
# Fields that leave the end of the body to others. RFC 2616 3.6: identity is no transfer coding, so a length counts.
_NO_FRAMING = frozenset(((_LENGTH, b""), (_CODING, b""), (_CODING, b"identity")))
_LONGEST = 2**63 - 1


def mend(raw: bytes) -> bytes:
    """The head as its sender may have meant it: CRLF line ends, only valid fields, at most one length."""
    status_line, *rest = raw.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    lines = [_status(status_line)]
    lengths: set[int] = set()
    coded = False
    for name, value in _fields(rest):
        if (name.lower(), value.lower()) in _NO_FRAMING:
            continue
        if name.lower() == _LENGTH:
            lengths |= _lengths(value)
            continue
        coded = coded or name.lower() == _CODING
        lines.append(b"%b: %b" % (name, value))
    if len(lengths) > 1 and not coded:
        raise BadHead(f"contradictory lengths: {sorted(lengths)[:5]}")
    # RFC 9112 6.3: Transfer-Encoding overrides Content-Length. An impossibly large length is ignored.
    if lengths and not coded and max(lengths) <= _LONGEST:
        lines.append(b"Content-Length: %d" % lengths.pop())
    return b"\r\n".join(lines) + b"\r\n\r\n"


def head_fields(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The valid fields of any head, whatever they say."""
    return _fields(raw.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")[1:])


def _status(line: bytes) -> bytes:
    match = _STATUS_LINE.match(line)
    if match is None:
        raise BadHead(f"not a status line: {line[:100]!r}")
    major, minor, code, reason = match.groups()
    version = b"1.1" if (major, minor or b"0") >= (b"1", b"1") else b"1.0"
    return b"HTTP/%b %b %b" % (version, code, reason.translate(_SPACED))


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    fields: list[tuple[bytes, bytes]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and fields:  # RFC 9112 5.2: a folded line is joined by a space
            name, value = fields[-1]
            fields[-1] = (name, (value + b" " + line.translate(_SPACED).strip()).strip())
            continue
        name, colon, value = line.partition(b":")
        name = name.strip()
        if colon and _TOKEN.fullmatch(name):
            fields.append((name, value.translate(_SPACED).strip()))
    return fields


def _lengths(value: bytes) -> set[int]:
    parts = [part.strip() for part in value.split(b",")]
    if not all(part.isdigit() and len(part) < 40 for part in parts):
        raise BadHead(f"not a length: {value[:100]!r}")
    return {int(part) for part in parts}


MAX_HEAD = 65536  # bytes of all heads of a response, including 1xx; browsers allow 256 KiB, Apache sends 8
MAX_HEADERS = 200  # fields
LEAST_HEAD = len(b"HTTP/1.1 200\n\n")

END_OF_HEAD = re.compile(rb"\n\r?\n")  # RFC 9112 2.2: a recipient may accept a bare LF as line end
_START = b"HTTP/"
_SETTINGS = b"\0\0\0\4\0\0\0\0\0"  # the head of HTTP/2's first frame; then those that a server may send first
_FRAME = re.compile(rb"\0[\0-\x40][\0-\xff][\x04\x07]\0{5}", re.DOTALL)


@dataclass(slots=True)
class Head:
    """A parsed head; `raw` is its exact bytes."""

    raw: bytes
    status: int
    headers: list[tuple[bytes, bytes]]
    version: str
    mended: bool = False


def status_line(status: int) -> bytes:
    """Of a head that is put together."""
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase if status in set(HTTPStatus) else ''}\r\n".encode()


def check_start(data: bytes) -> None:
    """Raise NotHttp as soon as the first bytes cannot begin a status line, Http2Only for a frame of HTTP/2."""
    if data[:5].upper() != _START[: len(data)]:
        if _FRAME.match(data[:9] + _SETTINGS[len(data) :]):
            if len(data) < len(_SETTINGS):
                return
            raise Http2Only("a frame of HTTP/2 in answer to HTTP/1.1")
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
    head.raw, head.mended = raw, True
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
