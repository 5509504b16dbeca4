"""Parses one response as it arrives: bytes in, a message out, no I/O."""

from __future__ import annotations

from webcrawl.net.errors import (
    ConnectionLost,
    EmptyAnswer,
    FetchError,
    HeadTooLong,
    TimedOut,
    TooManyInterim,
    Upgraded,
)
from webcrawl.net.http_head import END_OF_HEAD, LEAST_HEAD, MAX_HEAD, Head, check_start, read_head
from webcrawl.net.http_message import Message
from webcrawl.net.long_bodies import Claim

_MAX_INTERIM = 10  # 1xx responses before the final one


class Answer:
    """Feed it what arrives until it returns the message; an unusable response raises BadAnswer."""

    __slots__ = ("_bodiless", "_buffer", "_claim", "_interim", "_message", "_seen", "_truncate")

    @property
    def held(self) -> float:
        """Seconds for which it was not read although it came: never, unless it is metered."""
        return 0.0

    def __init__(self, truncate: int, *, bodiless: bool = False, claim: Claim | None = None) -> None:
        self._truncate = truncate
        self._claim = claim
        self._bodiless = bodiless
        self._buffer = b""
        self._seen = 0  # bytes before the body
        self._interim = 0
        self._message: Message | None = None

    @property
    def received(self) -> int:
        """Bytes of the body so far; before there is one, of the head."""
        return self._message.received if self._message is not None else self._seen

    def feed(self, data: bytes) -> Message | None:
        """Parse what arrived; returns the message once it is finished."""
        message = self._message
        if message is None:
            data = self._feed_head(data)
            message = self._message
        return message if message is not None and message.feed(data) else None

    def lost(self, *, reset: bool) -> Message:
        """The connection has ended, cleanly or by a reset; raises ConnectionLost if the head is incomplete."""
        if self._message is not None:
            self._message.lost(reset=reset)
            return self._message
        if self._seen:
            raise ConnectionLost(f"after {self._seen} bytes of head")
        raise EmptyAnswer("no byte of answer")

    def break_off(self, error: FetchError) -> Message:
        """What follows cannot be read, for this reason: a truncated message; raises it if the head is incomplete."""
        if self._message is None:
            raise error
        self._message.flaws.append("framing")
        self._message.stop("unspecified")
        return self._message

    @property
    def waits(self) -> bool:
        """Return whether it waits for room in memory."""
        return self._message is not None and self._message.waits

    def expire(self) -> Message:
        """The time is up: a truncated message; raises TimedOut if the head is incomplete."""
        if self._message is None:
            raise TimedOut("no head in time")
        self._message.stop("time")
        return self._message

    def _feed_head(self, data: bytes) -> bytes:
        """Read heads up to the final one; returns the data after it."""
        self._seen += len(data)
        searched = len(self._buffer)
        data = self._buffer + data if searched else data
        while True:
            if data[:1] in (b"\r", b"\n"):  # RFC 9112 2.2: empty lines before the status line are ignored
                data, searched = data.lstrip(b"\r\n"), 0
            room = MAX_HEAD - (self._seen - len(data))  # interim heads and empty lines count too
            if data and room < LEAST_HEAD:
                raise HeadTooLong(f"{self._seen} bytes")
            check_start(data)
            end = END_OF_HEAD.search(data, max(searched - 2, 0))
            if end is None or end.end() > room or not data[0]:  # the last: half the head of a frame of HTTP/2
                return self._wait(data)
            head, data, searched = read_head(data[: end.end()]), data[end.end() :], 0
            if head.status >= 200:
                break
            self._count_interim(head)
        self._message = Message(head, self._truncate, bodiless=self._bodiless, claim=self._claim)
        self._buffer = b""
        return data

    def _wait(self, data: bytes) -> bytes:
        if self._seen > MAX_HEAD:
            raise HeadTooLong(f"{self._seen} bytes")
        self._buffer = data
        return b""

    def _count_interim(self, head: Head) -> None:
        if head.status == 101:
            raise Upgraded("101 to a request that asked for no upgrade")
        self._interim += 1
        if self._interim > _MAX_INTERIM:
            raise TooManyInterim(f"{self._interim} answers of status 1xx")
