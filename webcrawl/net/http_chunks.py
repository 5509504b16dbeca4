"""Chunked bodies (RFC 9112 7.1): read by llhttp, and line by line where it refuses what is well-formed."""

from __future__ import annotations

import re

from httptools import HttpParserError, HttpResponseParser

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*+"'
_BLANKS = rb"[\t ]*+"
_EXTENSION = rb"%b;%b%b(?:%b=%b(?:%b|%b)?+)?+" % (_BLANKS, _BLANKS, _TOKEN, _BLANKS, _BLANKS, _TOKEN, _QUOTED)
_SIZE = re.compile(rb"%b(0*[0-9A-Fa-f]{1,16})(?:%b)*+%b\r?\n" % (_BLANKS, _EXTENSION, _BLANKS))
_FIELD = re.compile(rb"%b%b:|[\t ]" % (_TOKEN, _BLANKS))  # or the continuation of one
# What has come of a line. Junk that never ends its line is noticed at once.
_STARTS = re.compile(rb"[\t ]*(?:0*[0-9A-Fa-f]{1,16}[\t ]*(?:;.*|\r)?)?", re.DOTALL)
_START = 64  # bytes that are looked at: the line may come byte by byte
# Chunks of a body, each 2 to 4 µs: a body with more is broken there, so that no server can waste our time
MOST = 1 << 17


class ChunkLines:
    """Feed it what follows the head; appends the chunks' contents to `payload`.

    Extensions and trailer fields are skipped, whatever they say (RFC 9110 6.5.1: a recipient may discard trailers).
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
        at = 0
        while at < len(data) and not self.complete and not self.broken:
            if self._wanted:
                piece = data[at : at + self._wanted]
                self.payload += piece
                self._wanted -= len(piece)
                at += len(piece)
                continue
            if not self._line and self._next == self._size:
                at = self._whole(data, at)
            end = data.find(b"\n", at) + 1
            self._line += data[at : end or len(data)]
            if not end:
                self.broken = not self._may_begin(bytes(self._line[:_START]))
                return
            line, self._line = bytes(self._line), bytearray()
            at = end
            self._next(line)
        self.excess = self.complete and bool(data[at:].strip(b"\r\n"))

    def _whole(self, data: bytes, at: int) -> int:
        """Reads the chunks that are here as a whole, from byte `at` on; line by line they would take twice as long."""
        payload, match = self.payload, _SIZE.match
        while self._chunks < MOST and (found := match(data, at)) is not None:
            begin = found.end()
            end = begin + int(found[1], 16)
            after = end + 2 if data.startswith(b"\r\n", end) else end + 1
            if begin == end or not data.endswith(b"\n", end, after):
                break
            payload += data[begin:end]
            at = after
            self._chunks += 1
        return at

    def _may_begin(self, start: bytes) -> bool:
        if self._next == self._size:
            return _STARTS.fullmatch(start) is not None
        return self._next == self._trailer or start == b"\r"

    def _size(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None or self._chunks == MOST:
            self.broken = True
            return
        self._chunks += 1
        self._wanted = int(found[1], 16)
        self._next = self._after if self._wanted else self._trailer

    def _after(self, line: bytes) -> None:
        """The line end after a chunk's content."""
        self.broken = line not in (b"\r\n", b"\n")
        self._next = self._size

    def _trailer(self, line: bytes) -> None:
        self.complete = line in (b"\r\n", b"\n", b"\r\r\n")
        self.broken = not self.complete and (b"\0" in line or not _FIELD.match(line))


_LINE_END = re.compile(rb"[\r\n]")
_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Chunks:
    """Feed it what follows the head; appends the chunks' contents to `payload`.

    llhttp calls Python at most once per chunk and never for trailer fields, so a body in one-byte chunks costs no
    more than its bytes. It refuses blanks around `;` and `=` in extensions, and fields of framing in trailers: such a
    body is read again from the beginning, and the rest of it line by line. So is one whose first line ends with a bare
    LF: llhttp would miss its end.
    """

    __slots__ = ("_began", "_lines", "_parser", "_received", "broken", "complete", "excess", "on_body", "payload")

    def __init__(self, received: list[bytes]) -> None:
        self._received = received  # all that was fed, the caller's
        self._lines: ChunkLines | None = None
        self._began = False  # the end of the first line has come
        self.payload = bytearray()
        self.complete = False
        self.broken = False
        self.excess = False  # data after the last chunk
        self.on_body = self.payload.extend
        self._parser = HttpResponseParser(self)
        # Padded sizes and bare LF line ends occur in the wild. llhttp takes "3 LF" only with both line-end flags, and
        # still waits after "0 LF LF".
        self._parser.set_dangerous_leniencies(
            lenient_spaces_after_chunk_size=True,
            lenient_optional_cr_before_lf=True,
            lenient_optional_lf_after_cr=True,
        )
        self._parser.feed_data(_CHUNKED)

    def feed(self, data: bytes) -> None:
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
        self.complete, self.broken, self.excess = lines.complete, lines.broken, lines.excess

    def end(self) -> None:
        """The connection has ended: the body is complete if only the empty line after the last chunk is missing."""
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
