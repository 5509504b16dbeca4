"""One connection to an HTTP server: sends a request and collects the response."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from select import POLLIN, poll
from socket import SO_RCVBUF, SOL_SOCKET
from typing import TYPE_CHECKING, cast

from webcrawl.net.errors import EmptyAnswer, FetchError, NoSocket, Untried
from webcrawl.net.http_answer import AnswerParser, Message
from webcrawl.net.protocols import Clock
from webcrawl.net.reading_limits import UNMETERED_BYTES, Bandwidth, Claim
from webcrawl.net.shortage import is_ours

if TYPE_CHECKING:
    from webcrawl.net.http2 import Http2Session


# RFC 9110 15.5.9: with it a server ends a connection that was idle. Taken for an answer it would do
# no harm.
_IDLE_END_STATUS = re.compile(rb"HTTP/1\.[01] 408\b")


class HttpConnection(asyncio.Protocol):
    """An asyncio Protocol rather than a stream: half the CPU time of aiohttp.

    Calls `opened` and `lost` once each, whichever side ends the connection.
    """

    __slots__ = (
        "_answer",
        "_clock",
        "_loop",
        "_lost",
        "_opened",
        "_transport",
        "_waiter",
        "certificate",
        "first_byte",
        "flaws",
        "http2",
        "ip",
        "open",
        "spoken",
        "tls",
        "unrequested",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        opened: Callable[[HttpConnection], None],
        lost: Callable[[HttpConnection], None],
    ) -> None:
        """`opened` and `lost` are called when the connection begins and ends."""
        self._loop = loop
        self._clock = clock
        self._opened = opened
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._answer: AnswerParser | None = None
        self._waiter: asyncio.Future[Message] | None = None
        self.open = False
        self.first_byte = 0.0  # when the response to the last request began
        self.ip = ""
        # the last is what the server has chosen of what ALPN offers
        self.tls = ""
        self.certificate = ""
        self.spoken = ""
        self.http2: Http2Session | None = None  # if HTTP/2 is spoken, or may be
        self.flaws: tuple[str, ...] = ()
        self.unrequested = False  # whether the server has sent what no request had asked for

    @property
    def received(self) -> int:
        """Return the bytes of the answer that is waited for."""
        return self._answer.received if self._answer is not None else 0

    @property
    def held(self) -> float:
        """Return the seconds for which this answer was not read, by our own doing."""
        return self._answer.held if self._answer is not None else 0.0

    @property
    def has_unread(self) -> bool:
        """Return whether bytes or the end of an open, idle connection have come and are not read yet.

        Not of HTTP/2, whose servers may send something between two answers.
        """
        socket = self._transport.get_extra_info("socket") if self._transport is not None else None
        if socket is None or self.http2 is not None:
            return False
        unread = poll()
        unread.register(socket.fileno(), POLLIN)
        return bool(unread.poll(0))

    async def ask(self, request: bytes, answer: AnswerParser) -> Message:
        """Send a request and wait for the response, or until `expire` is called; raises FetchError.

        Afterwards the connection is open only if it can be reused.
        """
        if self._transport is None:
            raise EmptyAnswer("the connection was closed")
        self._answer = answer
        self.first_byte = 0.0
        waiter: asyncio.Future[Message] = self._loop.create_future()
        self._waiter = waiter
        try:
            self._transport.write(request)
            return await waiter
        except BaseException:
            # An answer that is given up could come later, and be taken for the next one.
            self.abort()
            raise
        finally:
            self._answer = None
            self._waiter = None

    async def encrypt(self, context: ssl.SSLContext, name: str) -> ssl.SSLObject:
        """Start TLS on the connection; raises OSError."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection was closed before the handshake")
        self._transport = await self._loop.start_tls(
            self._transport, self, context, server_hostname=name
        )
        # `connection_lost` may have come while the handshake was under way.
        channel = None
        if self._transport is not None:
            channel = self._transport.get_extra_info("ssl_object")
        if channel is None:
            raise ConnectionResetError("the connection was closed during the handshake")
        return cast("ssl.SSLObject", channel)

    def write(self, data: bytes) -> None:
        """Send what belongs to no request."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def expire(self) -> None:
        """Stop waiting: return the truncated response, or fail if its head is incomplete."""
        if self._answer is None:
            return
        try:
            self._finish(self._answer.expire())
        except FetchError as error:
            self._fail(error)

    def narrow(self, size: int) -> None:
        """Let the kernel take little more than this before it is read."""
        socket = self._transport.get_extra_info("socket") if self._transport is not None else None
        if socket is not None:
            with suppress(OSError):
                socket.setsockopt(SOL_SOCKET, SO_RCVBUF, size)

    def pause(self) -> None:
        """Read nothing for a while.

        The server's packets are not acknowledged, and it sends no more.
        """
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self, answer: AnswerParser) -> None:
        """Read on, if this answer is still waited for."""
        is_waited_for = self._answer is answer
        if self._transport is None or not is_waited_for:
            return
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def finish(self, answer: AnswerParser, message: Message) -> None:
        """End this answer, if it is still waited for, with what came before it was read on."""
        if self._answer is answer:
            self._finish(message)

    def abort(self) -> None:
        """Close the connection at once and drop pending data."""
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.open = True
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        """Pass bytes to the parser of the present answer. Without a request they end the connection."""
        answer = self._answer
        if answer is None:  # no request has asked for these bytes
            # They could be taken for the next answer, so the connection ends
            self.unrequested = self.http2 is None and not _IDLE_END_STATUS.match(data)
            if self.http2 is None or not self.http2.between(data):
                self.abort()
            return
        if not self.first_byte:
            self.first_byte = self._clock()
        try:
            message = answer.feed(data) if self.http2 is None else self.http2.feed(data, answer)
        except FetchError as error:
            self._fail(error)
            return
        if message is not None:
            self._finish(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the answer that is awaited its end, whole or truncated, or its error."""
        self.open = False
        self._transport = None
        self._lost(self)
        if self._answer is None:
            return
        # A stream of HTTP/2 says itself where it ends: what lacks that was broken off
        is_reset = exc is not None or self.http2 is not None
        try:
            # ENOBUFS and the like are a lack of this machine, and no fault of the server
            if isinstance(exc, OSError) and is_ours(exc):
                raise NoSocket(str(exc))
            self._finish(self._answer.lost(reset=is_reset))
        except FetchError as error:
            error.__cause__ = exc
            self._fail(error)

    def _finish(self, message: Message) -> None:
        self._answer = None
        self.unrequested = message.excess and self._transport is not None and self.http2 is None
        is_reusable = message.reusable if self.http2 is None else self.http2.reusable(message)
        if not is_reusable:
            self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(message)

    def _fail(self, error: FetchError) -> None:
        self._answer = None
        self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


# seconds for which every server bears that we do not read; usual limits are 30 to 300
PAUSE_ALL_SERVERS_BEAR = 5.0
UNBORNE_RETRY_WAIT = 30.0  # seconds until one that did not bear it is asked again


class MeteredAnswer(AnswerParser):
    """A connection whose reading may have to wait: for BANDWIDTH_MAX, or for room in memory.

    `held`: seconds for which it was not read.
    """

    __slots__ = ("_bandwidth", "_clock", "_connection", "_had_waited", "_held", "_since")

    def __init__(
        self,
        bandwidth: Bandwidth,
        connection: HttpConnection,
        clock: Callable[[], float],
        truncate: int,
        *,
        bodiless: bool = False,
        claim: Claim | None = None,
    ) -> None:
        """`truncate`: bytes of a body to keep; `claim`: on memory for more."""
        super().__init__(truncate, bodiless=bodiless, claim=claim)
        self._bandwidth = bandwidth
        self._connection = connection
        self._clock = clock
        self._held = 0.0
        self._since: float | None = None
        self._had_waited = False  # for room

    def feed(self, data: bytes) -> Message | None:
        """Feed bytes; stop reading if memory or, for a large answer, bandwidth is short."""
        short = self._bandwidth.received(len(data))
        message = super().feed(data)
        if message is not None:
            self._ends()
        elif self._since is None and self.waits:
            self._wait_for_room()
        # Small answers are never held: at 10 kB/s a hundred of them would get 100 bytes per second
        # each, and end in time-outs that are charged to their hosts
        elif short and self._since is None and self.received > UNMETERED_BYTES:
            self._bandwidth.wait(self)
        return message

    def lost(self, *, reset: bool) -> Message:
        """End an answer whose connection was lost.

        Raise Untried, so that it is requested again, if we stopped reading for longer than the
        server has probably waited.
        """
        self._ends()
        message = super().lost(reset=reset)
        if message.truncated and self._had_waited and self._held >= PAUSE_ALL_SERVERS_BEAR:
            raise Untried(
                "the server closed the connection while the crawl had no room for the answer's body",
                wait=UNBORNE_RETRY_WAIT,
            )
        return message

    def _wait_for_room(self) -> None:
        if self._claim is not None:
            self._had_waited = True
            self.pause_reading()
            self._claim.wait(self._look_for_room)

    def _look_for_room(self) -> None:
        """Take room, if there is any now, and read on; or wait again."""
        message = self._message
        if message is None or self._since is None:  # it has ended meanwhile
            return
        is_finished = message.go_on()
        self._read_on()
        if is_finished:
            self._connection.finish(self, message)
        elif message.waits:
            self._wait_for_room()

    @property
    def held(self) -> float:
        return self._held if self._since is None else self._held + self._clock() - self._since

    def pause_reading(self) -> None:
        self._since = self._clock()
        self._connection.pause()

    def go_on(self) -> None:
        self._read_on()
        if self.waits:
            self._wait_for_room()

    def _read_on(self) -> None:
        self._held = self.held
        self._since = None
        self._connection.resume(self)

    def _ends(self) -> None:
        """Read on, so that the next answer can be read.

        Frames of HTTP/2 may come with the one that was too much, the last one too.
        """
        if self._since is not None:
            self._read_on()
