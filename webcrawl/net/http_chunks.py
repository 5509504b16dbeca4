"""Decodes a chunked body (RFC 9112 7.1) with llhttp."""

from __future__ import annotations

from httptools import HttpParserError, HttpResponseParser

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Chunks:
    """Feed it what follows the head; appends the chunks' contents to `payload`.

    llhttp calls Python at most once per chunk and never for trailer fields, so a body in one-byte chunks costs no
    more than its bytes.
    """

    __slots__ = ("_parser", "broken", "complete", "excess", "on_body", "payload")

    def __init__(self) -> None:
        self.payload = bytearray()
        self.complete = False
        self.broken = False
        self.excess = False  # data after the last chunk
        self.on_body = self.payload.extend
        self._parser = HttpResponseParser(self)
        # Padded sizes and bare LF line ends occur in the wild. llhttp takes "3 LF" only with both line-end flags, and
        # still waits after "0 LF LF": such a body ends with its connection.
        self._parser.set_dangerous_leniencies(
            lenient_spaces_after_chunk_size=True,
            lenient_optional_cr_before_lf=True,
            lenient_optional_lf_after_cr=True,
        )
        self._parser.feed_data(_CHUNKED)

    def feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError:
            self.excess = self.complete
            self.broken = not self.complete

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
        """Drop the parser, which refers back to this object."""
        del self._parser
