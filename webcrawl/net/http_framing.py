"""The framing of an HTTP/1.1 response, read by llhttp: the end of its head, and its chunks.

Broken heads are repaired the way browsers read them; the parser still decides. Chunks (RFC 9112
7.1) are read line by line where llhttp refuses what is well-formed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from webcrawl.base.possessive import compile_possessive
from webcrawl.net.errors import BadHead, HeadTooLong, Http2Only, NotHttp

_STATUS_LINE = re.compile(
    rb"http/([0-9])(?:\.([0-9]))?[ \t]+([0-9]{3})(?![0-9])[ \t]*(.*)", re.IGNORECASE
)
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"  # RFC 9110 5.6.2
_NAME = re.compile(_TOKEN)
# RFC 9112 2.2: a bare CR is replaced with a space; so are other controls. NUL is rejected before.
_SPACED = bytes(32 if (code < 32 and code != 9) or code == 127 else code for code in range(256))
_LENGTH, _CODING = b"content-length", b"transfer-encoding"
# Fields that leave the end of the body to others. RFC 2616 3.6: identity is no transfer coding, so
# a length counts.
_NO_FRAMING = frozenset(((_LENGTH, b""), (_CODING, b""), (_CODING, b"identity")))
_LARGEST_LENGTH = 2**63 - 1


def mend(raw: bytes) -> bytes:
    """Return a malformed head as its sender may have meant it.

    The result has CRLF line ends, only valid fields, and at most one length.
    """
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
    # RFC 9112 6.3: Transfer-Encoding overrides Content-Length.
    if coded:
        lengths.clear()
    if len(lengths) > 1:
        raise BadHead(f"contradictory Content-Length fields: {sorted(lengths)[:5]}")
    # An impossibly large length is ignored: the body ends with the connection.
    if lengths and max(lengths) <= _LARGEST_LENGTH:
        lines.append(b"Content-Length: %d" % lengths.pop())
    return b"\r\n".join(lines) + b"\r\n\r\n"


def head_fields(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Return the valid fields of any head, whatever they say."""
    return _fields(raw.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")[1:])


def _status(line: bytes) -> bytes:
    match = _STATUS_LINE.match(line)
    if match is None:
        raise BadHead(f"not a status line: {line[:100]!r}")
    major, minor, code, reason = match.groups()
    version = b"1.1" if (major, minor or b"0") >= (b"1", b"1") else b"1.0"
    return b"HTTP/%b %b %b" % (version, code, reason.translate(_SPACED))


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the fields of a head's lines; what is no field is left out."""
    fields: list[tuple[bytes, bytes]] = []
    for line in lines:
        # RFC 9112 5.2: a folded line is joined by a space.
        if line[:1] in (b" ", b"\t") and fields:
            name, value = fields[-1]
            fields[-1] = (name, (value + b" " + line.translate(_SPACED).strip()).strip())
            continue
        name, colon, value = line.partition(b":")
        name = name.strip()
        if colon and _NAME.fullmatch(name):
            fields.append((name, value.translate(_SPACED).strip()))
    return fields


def _lengths(value: bytes) -> set[int]:
    parts = [part.strip() for part in value.split(b",")]
    if not all(part.isdigit() and len(part) < 40 for part in parts):
        raise BadHead(f"Content-Length is not a number: {value[:100]!r}")
    return {int(part) for part in parts}


# bytes of all heads of a response, including 1xx; browsers allow 256 KiB, Apache sends 8
MAX_HEAD = 65536
MAX_HEADERS = 200  # fields
LEAST_HEAD = len(b"HTTP/1.1 200\n\n")

END_OF_HEAD = re.compile(rb"\n\r?\n")  # RFC 9112 2.2: a recipient may accept a bare LF as line end
_START = b"HTTP/"
# the head of HTTP/2's first frame; then those that a server may send first
_SETTINGS = b"\0\0\0\4\0\0\0\0\0"
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
    """Return the status line of a head that is put together."""
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


def check_start(data: bytes) -> None:
    """Raise NotHttp as soon as the first bytes cannot begin a status line.

    Raise Http2Only for a frame of HTTP/2.
    """
    if data[:5].upper() == _START[: len(data)]:
        return
    # What is missing of a frame's head is taken to be that of a first frame.
    may_be_frame = _FRAME.match(data[:9] + _SETTINGS[len(data) :]) is not None
    if not may_be_frame:
        raise NotHttp(f"the response starts with {data[:40]!r}")
    if len(data) >= len(_SETTINGS):
        raise Http2Only("the server answered an HTTP/1.1 request with an HTTP/2 frame")


def read_head(raw: bytes) -> Head:
    """Parse a complete head; one that llhttp rejects is repaired and parsed again."""
    if b"\0" in raw:
        raise BadHead("the head contains a NUL byte")
    try:
        head = _parse(raw)
    except HttpParserError:
        head = _mended(raw)
    if len(head.headers) > MAX_HEADERS:
        raise HeadTooLong(f"the head has {len(head.headers)} fields, which is too many")
    if head.status < 100:
        raise BadHead(f"invalid status {head.status}")
    return head


def _mended(raw: bytes) -> Head:
    try:
        head = _parse(mend(raw))
    except HttpParserError as error:
        raise BadHead(str(error)) from error
    head.raw = raw
    head.mended = True
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
    """Return a head as llhttp reads it. Raise HttpParserError."""
    fields = _Fields()
    parser = HttpResponseParser(fields)
    try:
        parser.feed_data(raw)
    except (HttpParserError, HttpParserUpgrade):
        # llhttp stops at a 101, with or without Upgrade; the caller rejects its status.
        is_switch = fields.complete and parser.get_status_code() == 101
        if not is_switch:
            raise
    if not fields.complete:
        raise HttpParserError("the head does not end at its empty line")
    return Head(raw, parser.get_status_code(), fields.headers, parser.get_http_version())


_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*+"'
_BLANKS = rb"[\t ]*+"
_EXTENSION = rb"%b;%b%b(?:%b=%b(?:%b|%b)?+)?+" % (
    _BLANKS,
    _BLANKS,
    _TOKEN,
    _BLANKS,
    _BLANKS,
    _TOKEN,
    _QUOTED,
)
_SIZE = compile_possessive(
    rb"%b(0*[0-9A-Fa-f]{1,16})(?:%b)*+%b\r?\n" % (_BLANKS, _EXTENSION, _BLANKS)
)
_FIELD = re.compile(rb"%b%b:|[\t ]" % (_TOKEN, _BLANKS))  # or the continuation of one
# What has come of a line. Junk that never ends its line is noticed at once.
_STARTS = re.compile(rb"[\t ]*(?:0*[0-9A-Fa-f]{1,16}[\t ]*(?:;.*|\r)?)?", re.DOTALL)
_SIZE_START = 64  # bytes that are looked at: the line may come byte by byte
# Chunks of a body, each 2 to 4 µs: a body with more is broken there, so that no server can waste
# our time
MOST_CHUNKS = 1 << 17


class ChunkLines:
    """Feed it what follows the head; appends the chunks' contents to `payload`.

    Extensions and trailer fields are skipped, whatever they say (RFC 9110 6.5.1: a recipient may
    discard trailers).
    """

    __slots__ = ("_chunks", "_line", "_next", "_wanted", "broken", "complete", "excess", "payload")

    def __init__(self) -> None:
        self.payload = bytearray()
        self.complete = False
        self.broken = False
        self.excess = False  # data after the last chunk
        self._line = bytearray()  # as far as it came
        self._next = self._size  # who reads the next line
        self._chunks = 0
        self._wanted = 0  # bytes of this chunk that are still to come

    def feed(self, data: bytes) -> None:
        """Read chunks line by line; set `complete`, `broken` or `excess` where they end."""
        position = 0
        while position < len(data) and not self.complete and not self.broken:
            if self._wanted:
                piece = data[position : position + self._wanted]
                self.payload += piece
                self._wanted -= len(piece)
                position += len(piece)
                continue
            is_at_chunk = not self._line and self._next == self._size
            if is_at_chunk:
                position = self._whole(data, position)
            end = data.find(b"\n", position) + 1
            self._line += data[position : end or len(data)]
            if not end:
                self.broken = not self._may_begin(bytes(self._line[:_SIZE_START]))
                return
            line, self._line = bytes(self._line), bytearray()
            position = end
            self._next(line)
        self.excess = self.complete and bool(data[position:].strip(b"\r\n"))

    def _whole(self, data: bytes, position: int) -> int:
        """Read the chunks that are here as a whole, from byte `position` on.

        Line by line they would take twice as long.
        """
        payload = self.payload
        match = _SIZE.match
        while self._chunks < MOST_CHUNKS and (found := match(data, position)) is not None:
            begin = found.end()
            end = begin + int(found[1], 16)
            after = end + 2 if data.startswith(b"\r\n", end) else end + 1
            if begin == end or not data.endswith(b"\n", end, after):
                break
            payload += data[begin:end]
            position = after
            self._chunks += 1
        return position

    def _may_begin(self, start: bytes) -> bool:
        if self._next == self._size:
            return _STARTS.fullmatch(start) is not None
        return self._next == self._trailer or start == b"\r"

    def _size(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None or self._chunks == MOST_CHUNKS:
            self.broken = True
            return
        self._chunks += 1
        self._wanted = int(found[1], 16)
        self._next = self._after if self._wanted else self._trailer

    def _after(self, line: bytes) -> None:
        """Read the line end after a chunk's content."""
        self.broken = line not in (b"\r\n", b"\n")
        self._next = self._size

    def _trailer(self, line: bytes) -> None:
        self.complete = line in (b"\r\n", b"\n", b"\r\r\n")
        if not self.complete:
            self.broken = b"\0" in line or not _FIELD.match(line)


_LINE_END = re.compile(rb"[\r\n]")
_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Chunks:
    """Feed it what follows the head; appends the chunks' contents to `payload`.

    llhttp calls Python at most once per chunk and never for trailer fields, so a body in one-byte
    chunks costs no more than its bytes. It refuses blanks around `;` and `=` in extensions, and
    fields of framing in trailers: such a body is read again from the beginning, and the rest of it
    line by line. So is one whose first line ends with a bare LF: llhttp would miss its end.
    """

    __slots__ = (
        "_began",
        "_lines",
        "_parser",
        "_received",
        "broken",
        "complete",
        "excess",
        "on_body",
        "payload",
    )

    def __init__(self, received: list[bytes]) -> None:
        """`received`: the caller's list of all that was fed, from which `_again` reads anew."""
        self._received = received  # all that was fed, the caller's
        self._lines: ChunkLines | None = None
        self._began = False  # the end of the first line has come
        self.payload = bytearray()
        self.complete = False
        self.broken = False
        self.excess = False  # data after the last chunk
        self.on_body = self.payload.extend
        self._parser = HttpResponseParser(self)
        # Padded sizes and bare LF line ends occur in the wild. llhttp takes "3 LF" only with both
        # line-end flags, and still waits after "0 LF LF".
        self._parser.set_dangerous_leniencies(
            lenient_spaces_after_chunk_size=True,
            lenient_optional_cr_before_lf=True,
            lenient_optional_lf_after_cr=True,
        )
        self._parser.feed_data(_CHUNKED)

    def feed(self, data: bytes) -> None:
        """Read chunks with llhttp, or line by line once llhttp has refused them."""
        if self._lines is not None:
            self._by_line(self._lines, data)
            return
        if not self._began and (end := _LINE_END.search(data)) is not None:
            self._began = True
            if end[0] == b"\n":
                self._again()
                return
        try:
            self._parser.feed_data(data)
        except HttpParserError:
            self.excess = self.complete
            if not self.complete:
                self._again()

    def _again(self) -> None:
        self._lines = ChunkLines()
        self._by_line(self._lines, b"".join(self._received))

    def _by_line(self, lines: ChunkLines, data: bytes) -> None:
        lines.feed(data)
        self.payload += lines.payload[len(self.payload) :]  # what llhttp gave has been passed on
        self.complete = lines.complete
        self.broken = lines.broken
        self.excess = lines.excess

    def end(self) -> None:
        """Judge the body of a connection that has ended.

        It is complete if only the empty line after the last chunk is missing.
        """
        size = len(self.payload)
        self.feed(b"\r\n")
        del self.payload[size:]  # inside a chunk, the line end counts as content

    def on_message_begin(self) -> None:
        if self.complete:  # otherwise another response's body would be appended to this one
            raise HttpParserError("another message")

    def on_message_complete(self) -> None:
        self.complete = True

    def close(self) -> None:
        """Drop the parser, which refers back to this object, and what was read."""
        del self._parser, self.on_body
        self.payload = bytearray()
