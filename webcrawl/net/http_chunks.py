"""A chunked body put together again: RFC 9112 7.1, read by llhttp."""

from __future__ import annotations

from httptools import HttpParserError, HttpResponseParser

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Chunks:
    """Feed it what follows the head; `payload` grows by what the chunks held.

    One call of feed costs one call of Python a chunk at most, and none a trailer field: a body in chunks of
    one byte costs no more than its bytes.
    """

    __slots__ = ("_parser", "broken", "complete", "excess", "on_body", "payload")

    def __init__(self) -> None:
        self.payload = bytearray()
        self.complete = False
        self.broken = False
        self.excess = False  # something follows the last chunk
        self.on_body = self.payload.extend
        self._parser = HttpResponseParser(self)
        # Padded sizes and line ends of LF alone are met in the wild. llhttp takes "3 LF" only with both line-end
        # flags, and waits on after "0 LF LF": such a body ends with its connection.
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
        """The connection has ended: enough, if all that is missing is the empty line after the last chunk."""
        size = len(self.payload)
        self.feed(b"\r\n")
        del self.payload[size:]  # within a chunk, the line end is taken for content

    def on_message_begin(self) -> None:
        if self.complete:  # else another answer's body would be taken for more of this one's
            raise HttpParserError("another message")

    def on_message_complete(self) -> None:
        self.complete = True

    def close(self) -> None:
        """Let go of the parser, which holds on to this object."""
        del self._parser
