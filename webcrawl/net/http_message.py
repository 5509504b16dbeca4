"""A message after its head: where its body ends (RFC 9112 6.3), the body as received, and the body decoded.

Bodies are collected without transfer coding, within bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from httptools import HttpParserError, HttpResponseParser

from webcrawl.net.chunk_lines import ChunkLines
from webcrawl.net.decoding import Decoder, UnknownCoding, decoder
from webcrawl.net.http_head import Head
from webcrawl.net.long_bodies import Claim

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


_TELLING = frozenset((b"content-length", b"transfer-encoding", b"content-encoding", b"connection"))


@dataclass(slots=True)
class Framing:
    """The way to read the data after the head."""

    chunked: bool
    length: int | None  # None: until the connection closes, unless chunked
    codings: list[bytes]  # in the order they were applied
    persistent: bool  # whether the connection may be reused


def frame(head: Head, *, bodiless: bool = False) -> Framing:
    """The framing that this head declares; `bodiless`: the response to HEAD."""
    told: dict[bytes, list[bytes]] = {}
    for name, value in head.headers:
        if (lower := name.lower()) in _TELLING:
            tokens = _tokens(value)
            told[lower] = told[lower] + tokens if lower in told else tokens
    options = told.get(b"connection", ())
    persistent = b"close" not in options and (head.version == "1.1" or b"keep-alive" in options)
    codings = told.get(b"content-encoding", [])
    if bodiless or head.status in (204, 304):
        return Framing(chunked=False, length=0, codings=codings, persistent=persistent)
    if transfer := told.get(b"transfer-encoding"):
        chunked = transfer[-1] == b"chunked"
        while transfer[-1:] == [b"chunked"]:
            transfer.pop()
        # Transfer codings wrap the content codings and are decoded in the same way.
        codings = codings + transfer
        return Framing(chunked=chunked, length=None, codings=codings, persistent=persistent and chunked)
    lengths = told.get(b"content-length")
    length = int(lengths[0]) if lengths else None
    return Framing(chunked=False, length=length, codings=codings, persistent=persistent and length is not None)


def _tokens(value: bytes) -> list[bytes]:
    return [token for part in value.lower().split(b",") if (token := part.strip())]


_SLACK = 65536
_LIKE_CODED = 32  # bytes of text under a wrong label may be taken for the beginning of a coded stream


class Message:
    """Collects a body of up to `truncate` decoded bytes.

    Up to twice as much may be received, for chunk sizes, trailers and codings with little output. A body that is not
    chunked is stored once for all of its three forms.
    """

    __slots__ = (
        "_chunks",
        "_decoder",
        "_framing",
        "_parts",
        "_truncate",
        "claim",
        "complete",
        "excess",
        "flaws",
        "head",
        "received",
        "truncated",
        "waits",
    )

    def __init__(self, head: Head, truncate: int, *, bodiless: bool, claim: Claim | None = None) -> None:
        self.head = head
        self.claim = claim  # on room for more than `truncate`
        self._framing = framing = frame(head, bodiless=bodiless)
        self._truncate = truncate
        self._parts: list[bytes] = []
        self.received = 0  # bytes of the body, as it comes
        self._chunks = Chunks(self._parts) if framing.chunked else None
        self._decoder: Decoder | None = None
        self.complete = False
        self.excess = False  # data after the message that was not requested
        self.truncated = ""
        self.waits = False  # for room: what came is more than it may have, and nothing is read until it may have more
        self.flaws: list[str] = []
        if framing.codings:
            try:
                self._decoder = decoder(framing.codings, truncate)
            except UnknownCoding:
                self.flaws.append("unknown_coding")

    @property
    def reusable(self) -> bool:
        """True if the connection may be reused."""
        return self.complete and self._framing.persistent and not self.excess

    def feed(self, data: bytes) -> bool:
        """Store what arrived; True if no more data is needed."""
        if self._chunks is not None:
            self._feed_chunks(self._chunks, data)
        else:
            self._feed_plain(data)
        return self.go_on()

    def go_on(self) -> bool:
        """Take as much room as what arrived needs; True if no more data is needed, False too while it waits."""
        self.waits = False
        if self._over() and not self._grows():
            self.waits = self.claim is not None and self.claim.waits and self._can_grow()
            if not self.waits:
                self.truncated = "length"  # even if the message is complete: the stored body is cut
        return not self.waits and (self.complete or bool(self.truncated))

    def lost(self, *, reset: bool) -> None:
        """The connection has ended: this completes a body that lasts until the close, and truncates any other."""
        if self._chunks is not None:
            self._chunks.end()
            self.complete = self._chunks.complete
        else:
            self.complete = self._framing.length is None and not reset
        self.excess = True  # the connection is gone, not reusable
        if not self.complete:
            self.stop("disconnect")

    def stop(self, reason: str) -> None:
        self.truncated = self.truncated or reason

    def forms(self) -> tuple[bytes, bytes, bytes]:
        """The body as received, without transfer coding, and decoded. Call once, at the end."""
        if self._chunks is None:
            wire = payload = self._plain()
        else:
            wire = b"".join(self._parts)
            self._parts.clear()
            payload = bytes(self._chunks.payload)
            self._chunks.close()
        return wire, payload, self._decoded(payload)

    def _feed_plain(self, data: bytes) -> None:
        length = self._framing.length
        if length is not None:
            room = length - self.received
            self.excess = len(data) > room
            data = data[:room] if self.excess else data
            self.complete = self.received + len(data) == length
        if data:
            self._parts.append(data)
            self.received += len(data)
            if self._decoder is not None:
                self._decoder.feed(data)

    def _feed_chunks(self, chunks: Chunks, data: bytes) -> None:
        if not data:
            return
        before = len(chunks.payload)
        self._parts.append(data)
        chunks.feed(data)
        self.received += len(data)
        if self._decoder is not None and len(chunks.payload) > before:
            self._decoder.feed(bytes(memoryview(chunks.payload)[before:]))
        self.complete, self.excess = chunks.complete, chunks.excess
        if chunks.broken:
            self.flaws.append("chunking")
            self.stop("unspecified")

    def _over(self) -> bool:
        decoding = self._decoder
        if decoding is not None and (decoding.started or not decoding.broken):
            return decoding.full or self.received > 2 * self._truncate + _SLACK
        if self._chunks is not None:
            return len(self._chunks.payload) > self._truncate or self.received > 2 * self._truncate + _SLACK
        return self.received > self._truncate

    def _grows(self) -> bool:
        """True if there is room for more: then what came so far is not too long any more."""
        claim, decoding = self.claim, self._decoder
        while claim is not None and self._can_grow() and (extra := claim.more()):
            self._truncate += extra
            if decoding is not None:
                decoding.grow(extra)
            if not self._over():
                return True
        return False

    def _can_grow(self) -> bool:
        return self._decoder is None or self._decoder.can_grow

    def _plain(self) -> bytes:
        payload = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()  # of a large body: it is in memory once
        return payload[: self._truncate] if self._decoder is None and self.truncated == "length" else payload

    def _decoded(self, payload: bytes) -> bytes:
        decoding = self._decoder
        if decoding is None or not payload:
            return payload[: self._truncate]
        if self.complete:
            decoding.finish()
        if decoding.cut and (decoding.started or len(payload) > _LIKE_CODED):
            self.stop("disconnect")  # of whoever made it: what was left has been framed as if it were whole
        if decoding.broken:
            self.flaws.append("coding")
            if not decoding.started:  # a wrong label: browsers give up, but it may still be text
                return payload[: self._truncate]
        return decoding.body
