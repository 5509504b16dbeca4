"""Parses one response as it arrives: bytes in, a message out, no I/O.

A message says where its body ends (RFC 9112 6.3), and has the body as received, without transfer
coding, and decoded, within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.net.codings import Decoder, UnknownCoding, decoder, most_coded
from webcrawl.net.errors import (
    ConnectionLost,
    EmptyAnswer,
    FetchError,
    HeadTooLong,
    TimedOut,
    TooManyInterim,
    Upgraded,
)
from webcrawl.net.http_framing import (
    END_OF_HEAD,
    LEAST_HEAD,
    MAX_HEAD,
    Chunks,
    Head,
    check_start,
    read_head,
)
from webcrawl.net.reading_limits import Claim

_TELLING = frozenset((b"content-length", b"transfer-encoding", b"content-encoding", b"connection"))


@dataclass(slots=True)
class BodyFraming:
    """The way to read the data after the head."""

    chunked: bool
    length: int | None  # None: until the connection closes, unless chunked
    codings: list[bytes]  # in the order they were applied
    persistent: bool  # whether the connection may be reused


def frame(head: Head, *, bodiless: bool = False) -> BodyFraming:
    """Return the framing that this head declares; `bodiless`: the response to HEAD."""
    tokens_of: dict[bytes, list[bytes]] = {}
    for name, value in head.headers:
        lower = name.lower()
        if lower in _TELLING:
            tokens = _tokens(value)
            tokens_of[lower] = tokens_of[lower] + tokens if lower in tokens_of else tokens
    options = tokens_of.get(b"connection", ())
    # RFC 9112 9.3: HTTP/1.1 keeps a connection unless it says `close`, and HTTP/1.0 if it says
    # `keep-alive`.
    is_usual = head.version == "1.1" or b"keep-alive" in options
    persistent = is_usual and b"close" not in options
    codings = tokens_of.get(b"content-encoding", [])
    # RFC 9112 6.3: whatever the head says of a body
    if bodiless or head.status in (204, 304):
        return BodyFraming(chunked=False, length=0, codings=codings, persistent=persistent)
    if transfer := tokens_of.get(b"transfer-encoding"):
        # RFC 9112 6.3: a body whose last coding is another lasts until the connection ends
        chunked = transfer[-1] == b"chunked"
        while transfer[-1:] == [b"chunked"]:
            transfer.pop()
        # Transfer codings wrap the content codings and are decoded in the same way.
        codings = codings + transfer
        return BodyFraming(
            chunked=chunked, length=None, codings=codings, persistent=persistent and chunked
        )
    lengths = tokens_of.get(b"content-length")
    # Lengths that differ have made the head invalid
    length = int(lengths[0]) if lengths else None
    return BodyFraming(
        chunked=False, length=length, codings=codings, persistent=persistent and length is not None
    )


def _tokens(value: bytes) -> list[bytes]:
    return [token for part in value.lower().split(b",") if (token := part.strip())]


# bytes of text under a wrong label may be taken for the beginning of a coded stream
_LIKE_CODED = 32


class Message:
    """Collects a body of up to `truncate` decoded bytes.

    Up to twice as much may be received, for chunk sizes, trailers and codings with little output. A
    body that is not chunked is stored once for all of its three forms.
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

    def __init__(
        self, head: Head, truncate: int, *, bodiless: bool, claim: Claim | None = None
    ) -> None:
        """`truncate`: bytes of the body to keep; `bodiless`: the answer to a HEAD."""
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
        # for room: what came is more than it may have, and nothing is read until it may have more
        self.waits = False
        self.flaws: list[str] = []
        if framing.codings:
            try:
                self._decoder = decoder(framing.codings, truncate)
            except UnknownCoding:
                self.flaws.append("unknown_coding")

    @property
    def reusable(self) -> bool:
        return self.complete and self._framing.persistent and not self.excess

    def feed(self, data: bytes) -> bool:
        """Store what arrived; True if no more data is needed."""
        if self._chunks is not None:
            self._feed_chunks(self._chunks, data)
        else:
            self._feed_plain(data)
        return self.go_on()

    def go_on(self) -> bool:
        """Take as much room as what arrived needs. Return whether no more data is needed.

        While it waits for room, it returns False too.
        """
        self.waits = False
        if self._over() and not self._grows():
            self.waits = self.claim is not None and self.claim.waits and self._can_grow()
            if not self.waits:
                # Even if the message is complete: what is stored of the body is not.
                self.truncated = "length"
        return not self.waits and (self.complete or bool(self.truncated))

    def lost(self, *, reset: bool) -> None:
        """End the body with its connection: truncate it unless it lasts until then."""
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
        """Return the body as received, without transfer coding, and decoded.

        Call once, at the end.
        """
        if self._chunks is None:
            wire = payload = self._plain()
        else:
            wire = b"".join(self._parts)
            self._parts.clear()
            payload = bytes(self._chunks.payload)
            self._chunks.close()
        return wire, payload, self._decoded(payload)

    def _feed_plain(self, data: bytes) -> None:
        """Take bytes of a body that is not in chunks; those behind its length are `excess`."""
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
        """Take bytes of a body in chunks; broken chunks end it, with a flaw."""
        if not data:
            return
        before = len(chunks.payload)
        self._parts.append(data)
        chunks.feed(data)
        self.received += len(data)
        if self._decoder is not None and len(chunks.payload) > before:
            self._decoder.feed(bytes(memoryview(chunks.payload)[before:]))
        self.complete = chunks.complete
        self.excess = chunks.excess
        if chunks.broken:
            self.flaws.append("chunking")
            self.stop("unspecified")

    def _over(self) -> bool:
        decoding = self._decoder
        if decoding is not None and (decoding.started or not decoding.broken):
            return decoding.full or self.received > most_coded(self._truncate)
        if self._chunks is None:
            return self.received > self._truncate
        if len(self._chunks.payload) > self._truncate:
            return True
        return self.received > most_coded(self._truncate)

    def _grows(self) -> bool:
        """Return whether there is room for more: then what came so far is not too long any more."""
        claim = self.claim
        decoding = self._decoder
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
        # A large body is in memory once.
        self._parts.clear()
        is_too_long = self._decoder is None and self.truncated == "length"
        return payload[: self._truncate] if is_too_long else payload

    def _decoded(self, payload: bytes) -> bytes:
        """Return the body without its codings, or as it came where they cannot be undone.

        Truncation and damage are noted.
        """
        decoding = self._decoder
        if decoding is None or not payload:
            return payload[: self._truncate]
        if self.complete:
            decoding.finish()
        is_coded = decoding.started or len(payload) > _LIKE_CODED
        if decoding.truncated and is_coded:
            # A proxy has framed as a whole what it got before its own connection ended.
            self.stop("disconnect")
        if not decoding.broken:
            return decoding.body
        self.flaws.append("coding")
        # Under a wrong label the payload may still be text, though browsers give up.
        return decoding.body if decoding.started else payload[: self._truncate]


_MAX_INTERIM = 10  # 1xx responses before the final one


class AnswerParser:
    """Feed it what arrives until it returns the message; an unusable response raises BadAnswer."""

    __slots__ = ("_bodiless", "_buffer", "_claim", "_interim", "_message", "_seen", "_truncate")

    @property
    def held(self) -> float:
        """Return the seconds for which it was not read although it came: none, unless it is
        metered.
        """
        return 0.0

    def __init__(
        self, truncate: int, *, bodiless: bool = False, claim: Claim | None = None
    ) -> None:
        """`truncate`: bytes of a body to keep; `claim`: on memory for more."""
        self._truncate = truncate
        self._claim = claim
        self._bodiless = bodiless
        self._buffer = b""
        self._seen = 0  # bytes before the body
        self._interim = 0
        self._message: Message | None = None

    @property
    def received(self) -> int:
        """Return the bytes of the body so far; before there is one, of the head."""
        return self._message.received if self._message is not None else self._seen

    def feed(self, data: bytes) -> Message | None:
        """Parse what arrived; returns the message once it is finished."""
        message = self._message
        if message is None:
            data = self._feed_head(data)
            message = self._message
        return message if message is not None and message.feed(data) else None

    def lost(self, *, reset: bool) -> Message:
        """Return the message of a connection that has ended, cleanly or by a reset.

        Raise ConnectionLost if the head is incomplete.
        """
        if self._message is not None:
            self._message.lost(reset=reset)
            return self._message
        if self._seen:
            raise ConnectionLost(f"the connection was lost after {self._seen} bytes of the head")
        raise EmptyAnswer("the server sent no answer")

    def break_off(self, error: FetchError) -> Message:
        """End the message as truncated, because the rest cannot be read.

        Raise the reason if the head is incomplete.
        """
        if self._message is None:
            raise error
        self._message.flaws.append("framing")
        self._message.stop("unspecified")
        return self._message

    @property
    def waits(self) -> bool:
        return self._message is not None and self._message.waits

    def expire(self) -> Message:
        """Return a truncated message: time is up. Raise TimedOut if the head is incomplete."""
        if self._message is None:
            raise TimedOut("the head of the answer did not arrive in time")
        self._message.stop("time")
        return self._message

    def _feed_head(self, data: bytes) -> bytes:
        """Read heads up to the final one; returns the data after it."""
        self._seen += len(data)
        searched = len(self._buffer)
        data = self._buffer + data if searched else data
        while True:
            # RFC 9112 2.2: empty lines before the status line are ignored
            if data[:1] in (b"\r", b"\n"):
                data = data.lstrip(b"\r\n")
                searched = 0
            # Interim heads and empty lines count too: without end, they are a flood.
            room = MAX_HEAD - (self._seen - len(data))
            if data and room < LEAST_HEAD:
                raise HeadTooLong(f"the head is too long: {self._seen} bytes so far")
            check_start(data)
            end = END_OF_HEAD.search(data, max(searched - 2, 0))
            size = end.end() if end is not None else 0
            is_whole = 0 < size <= room
            # A NUL first is the beginning of a frame of HTTP/2, of which the rest is to come.
            if not is_whole or not data[0]:
                return self._wait(data)
            head = read_head(data[:size])
            data = data[size:]
            searched = 0
            if head.status >= 200:
                break
            self._count_interim(head)
        self._message = Message(head, self._truncate, bodiless=self._bodiless, claim=self._claim)
        self._buffer = b""
        return data

    def _wait(self, data: bytes) -> bytes:
        if self._seen > MAX_HEAD:
            raise HeadTooLong(f"the head is too long: {self._seen} bytes so far")
        self._buffer = data
        return b""

    def _count_interim(self, head: Head) -> None:
        if head.status == 101:
            raise Upgraded("the server switched protocols (status 101) without being asked to")
        self._interim += 1
        if self._interim > _MAX_INTERIM:
            raise TooManyInterim(f"the server sent {self._interim} answers of status 1xx")
