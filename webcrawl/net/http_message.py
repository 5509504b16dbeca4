"""A message after its head: collects the body as received, without transfer coding, and decoded, within bounds."""

from __future__ import annotations

from webcrawl.net.decoding import Decoder, UnknownCoding, decoder
from webcrawl.net.http_chunks import Chunks
from webcrawl.net.http_framing import frame
from webcrawl.net.http_head import Head

_SLACK = 65536


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
        "complete",
        "excess",
        "flaws",
        "head",
        "received",
        "truncated",
    )

    def __init__(self, head: Head, truncate: int, *, bodiless: bool) -> None:
        self.head = head
        self._framing = framing = frame(head, bodiless=bodiless)
        self._truncate = truncate
        self._parts: list[bytes] = []
        self.received = 0  # bytes of the body, as it comes
        self._chunks = Chunks() if framing.chunked else None
        self._decoder: Decoder | None = None
        self.complete = False
        self.excess = False  # data after the message that was not requested
        self.truncated = ""
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
        if self._over():
            self.truncated = "length"  # even if the message is complete: the stored body is cut
        return self.complete or bool(self.truncated)

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
            wire, payload = b"".join(self._parts), bytes(self._chunks.payload)
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
        chunks.feed(data)
        self._parts.append(data)
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

    def _plain(self) -> bytes:
        payload = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return payload[: self._truncate] if self._decoder is None and self.truncated == "length" else payload

    def _decoded(self, payload: bytes) -> bytes:
        decoding = self._decoder
        if decoding is None or not payload:
            return payload[: self._truncate]
        if self.complete:
            decoding.finish()
        if decoding.broken:
            self.flaws.append("coding")
            if not decoding.started:  # a wrong label: browsers give up, but it may still be text
                return payload[: self._truncate]
        return decoding.body
