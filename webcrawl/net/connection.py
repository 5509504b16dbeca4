"""One connection to an HTTP server: sends a request and collects the response, with all deadlines on one timer."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from socket import SO_RCVBUF, SOL_SOCKET
from typing import TYPE_CHECKING, cast

from webcrawl.net.errors import EmptyAnswer, FetchError, NoSocket
from webcrawl.net.http_answer import Answer
from webcrawl.net.http_message import Message
from webcrawl.net.protocols import Bounds, Clock
from webcrawl.net.shortage import LATE, is_ours

if TYPE_CHECKING:
    from webcrawl.net.http2 import Session


# RFC 9110 15.5.9: with it a server ends a connection that was idle. Taken for an answer it would do no harm.
_FAREWELL = re.compile(rb"HTTP/1\.[01] 408\b")


class Connection(asyncio.Protocol):
    """An asyncio Protocol rather than a stream: half the cost of aiohttp (docs/net.md).

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
        "unasked",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        opened: Callable[[Connection], None],
        lost: Callable[[Connection], None],
    ) -> None:
        self._loop, self._clock, self._opened, self._lost = loop, clock, opened, lost
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._waiter: asyncio.Future[Message] | None = None
        self.open = False
        self.first_byte = 0.0  # when the response to the last request began
        self.ip = ""
        self.tls = self.certificate = self.spoken = ""  # the last is what the server has chosen of what ALPN offers
        self.http2: Session | None = None  # if HTTP/2 is spoken, or may be
        self.flaws: tuple[str, ...] = ()
        self.unasked = False  # whether the server has sent what no request had asked for

    @property
    def received(self) -> int:
        """Bytes of the answer that is waited for."""
        return self._answer.received if self._answer is not None else 0

    @property
    def held(self) -> float:
        """Seconds for which this answer was not read, by our own doing."""
        return self._answer.held if self._answer is not None else 0.0

    async def ask(self, request: bytes, answer: Answer) -> Message:
        """Send a request and wait for the response, or until `expire` is called; raises FetchError.

        Afterwards the connection is open only if it can be reused.
        """
        if self._transport is None:
            raise EmptyAnswer("the connection has ended")
        self._answer, self.first_byte = answer, 0.0
        waiter: asyncio.Future[Message] = self._loop.create_future()
        self._waiter = waiter
        try:
            self._transport.write(request)
            return await waiter
        except BaseException:
            self.abort()
            raise
        finally:
            self._answer = self._waiter = None

    async def encrypt(self, context: ssl.SSLContext, name: str) -> ssl.SSLObject:
        """Start TLS on the connection; raises OSError."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection ended before the handshake")
        self._transport = await self._loop.start_tls(self._transport, self, context, server_hostname=name)
        channel = self._transport.get_extra_info("ssl_object") if self._transport is not None else None
        if channel is None:
            raise ConnectionResetError("the connection ended in the handshake")
        return cast("ssl.SSLObject", channel)

    def write(self, data: bytes) -> None:
        """Send what belongs to no request."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def expire(self) -> None:
        """Stop waiting: return the truncated response, or fail if its head is incomplete."""
        if self._answer is not None:
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
        """Read nothing for a while: the server's packets are not acknowledged, and it sends no more."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self, answer: Answer) -> None:
        """Read on, if this answer is still waited for."""
        if self._transport is not None and not self._transport.is_closing() and self._answer is answer:
            self._transport.resume_reading()

    def finish(self, answer: Answer, message: Message) -> None:
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
        answer = self._answer
        if answer is None:  # unrequested bytes: they belong to no request
            self.unasked = self.http2 is None and not _FAREWELL.match(data)
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
        self.open, self._transport = False, None
        self._lost(self)
        if self._answer is not None:
            try:
                if isinstance(exc, OSError) and is_ours(exc):
                    raise NoSocket(str(exc))
                self._finish(self._answer.lost(reset=exc is not None or self.http2 is not None))
            except FetchError as error:
                error.__cause__ = exc
                self._fail(error)

    def _finish(self, message: Message) -> None:
        self._answer = None
        self.unasked = message.excess and self._transport is not None and self.http2 is None
        if not (message.reusable if self.http2 is None else self.http2.reusable(message)):
            self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(message)

    def _fail(self, error: FetchError) -> None:
        self._answer = None
        self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


AGAIN = 0.5  # seconds between two looks at an answer that comes slowly
ROUNDING = 1e-6  # seconds by which a timer may be early


class Deadlines:
    """Expires late requests, to the millisecond. A timer for each request would cost 4 us per page.

    Each request has the time of the next look at it: its deadline, or before that the time when it is too slow. An
    answer that comes gets more time with each look. All times are the clock's, which may stand while this process does
    not run; a deadline is then so much later.
    """

    def __init__(self, bounds: Bounds, clock: Clock) -> None:
        self._bounds, self._clock = bounds, clock
        self._asked: dict[Connection, tuple[float, float, float]] = {}  # next look, deadline, when it was asked
        self._timer: asyncio.TimerHandle | None = None
        self._at = float("inf")  # when the timer fires: no later than the first look
        self._due = 0.0  # the same, in the loop's time

    def use(self, bounds: Bounds) -> None:
        """These hold for requests from now on."""
        self._bounds = bounds

    def add(self, connection: Connection, deadline: float) -> None:
        """Watch a request that is sent now; `deadline` is in the loop's time."""
        now = self._clock()
        deadline += now - asyncio.get_running_loop().time()
        look = min(deadline, self._bounds.patience(now, 0))
        self._asked[connection] = (look, deadline, now)
        if look < self._at:
            self._look_at(look)

    def remove(self, connection: Connection) -> None:
        """Stop watching: the request is answered or abandoned."""
        self._asked.pop(connection, None)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = None, float("inf")

    def _look_at(self, when: float) -> None:
        self.close()
        loop = asyncio.get_running_loop()
        self._at, self._due = when, loop.time() + max(when - self._clock(), 0.0)
        self._timer = loop.call_at(self._due, self._look)

    def _look(self) -> None:
        now = self._clock() + ROUNDING
        if asyncio.get_running_loop().time() - self._due > LATE:  # what came meanwhile is not read yet
            self._look_at(now + AGAIN)
            return
        self._at = float("inf")
        for connection, (look, deadline, asked) in list(self._asked.items()):
            if look > now:
                continue
            held = connection.held
            until = min(deadline, self._bounds.patience(asked, connection.received)) + held
            if until > now:
                self._asked[connection] = (min(deadline + held, max(until, now + AGAIN)), deadline, asked)
            else:
                del self._asked[connection]
                connection.expire()
        if self._asked:
            self._look_at(min(look for look, _, _ in self._asked.values()))
