"""The HTTP/1.1 server of the synthetic web: each connection answers its requests in turn and logs
them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf

import httptools

from webcrawl.lab.simweb.request_log import Hit
from webcrawl.lab.simweb.web_answers import LAST_CHUNK, ConnectionEnd, WebAnswer, chunk, head

BEAT = 0.005  # seconds
# of the loop, from a client's leaving until `connection_lost` says so: two, or four with TLS; and
# some more
TURNS = 6


class Pulse:
    """Notes the time in regular beats, each in another turn of the loop.

    A busy machine, or an answer that takes long to make, lets a loop stand still for half a second.
    All that clients did meanwhile then seems to happen at once, and afterwards.
    """

    def __init__(self) -> None:
        self._beats: deque[float] = deque(maxlen=TURNS)
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._beats.append(time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(BEAT, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def since(self) -> float:
        """Return the moment after which all happened that is noticed now."""
        return self._beats[0] if self._beats else 0.0


BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NOTED = {
    b"host": "host",
    b"user-agent": "agent",
    b"accept-encoding": "accept",
    b"if-none-match": "etag",
    b"if-modified-since": "since",
}
CHUNK = 8192  # bytes
AT_ONCE = 1 << 16  # bytes that fit into a socket's empty buffer


@dataclass(slots=True)
class Request:
    """A request as received."""

    scheme: str
    method: str
    target: str
    # the headers that an answer or the log may depend on, by their names in NOTED
    notes: dict[str, str]
    keep: bool
    address: str  # the server's

    @property
    def host(self) -> str:
        """Return the host's name without its port."""
        return self.notes.get("host", "").partition(":")[0].lower()

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.notes.get('host', '').lower()}{self.target}"


@dataclass(slots=True)
class Desk:
    """The state that all connections share."""

    # which request for this URL it is, from 1; and the outage
    answer: Callable[[Request], tuple[WebAnswer, int, str]]
    finished: Callable[[Hit], None]
    latency: float
    pulse: Pulse = field(default_factory=Pulse)
    connections: set[Connection] = field(default_factory=set)
    date: str = ""
    begun: int = 0  # requests, answered or not


class Connection(asyncio.Protocol):
    """Requests may be pipelined; they are answered one after the other."""

    def __init__(self, desk: Desk, scheme: str) -> None:
        self._desk = desk
        self._scheme = scheme
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Request] = deque()
        self._hit: Hit | None = None
        self._latest = 0.0  # when something was about to be sent, or a pause was over
        self._task: asyncio.Task[None] | None = None
        self._drained = asyncio.Event()
        self._drained.set()
        self._target = ""
        self._notes: dict[str, str] = {}
        self._closing = False
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # -- asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # a stream server's always is one
        # Without a buffer in the process, "the answer was sent" means that the kernel has it. A
        # plain transport pauses above the limit, but one for TLS pauses at it: a limit of 0 would
        # pause it after every write, and it might not resume.
        self._transport.set_write_buffer_limits(high=1 if self._scheme == "https" else 0)
        self.address = transport.get_extra_info("sockname")[0]
        self._client = transport.get_extra_info("peername")[1]
        self._desk.connections.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._desk.connections.discard(self)
        if self._hit is not None:
            self._hit.ended = self._hit.ended or max(self._hit.started, self._desk.pulse.since())
        self._end("left")
        self.closed.set_result(None)

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse()

    def stop(self) -> None:
        """End the connection, because the server stops."""
        self._end("stopped")
        self._transport.abort()

    def cut(self, outage: str) -> None:
        """Reset the connection, because nothing listens at this address any more."""
        if self._hit is not None:
            self._hit.outage = outage
        self._end("reset", ConnectionEnd.RESET)

    def lose(self, outage: str) -> None:
        """Let nothing get through any more: what is being answered never will be."""
        if self._hit is not None:
            self._hit.outage = outage
            if self._task is not None:
                self._task.cancel()

    # -- the parser calls

    def on_message_begin(self) -> None:
        self._target = ""
        self._notes = {}

    def on_url(self, url: bytes) -> None:
        self._target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        noted = NOTED.get(name.lower())
        if noted is not None:
            self._notes[noted] = value.decode("latin-1")

    def on_message_complete(self) -> None:
        method, keep = self._parser.get_method().decode(), self._parser.should_keep_alive()
        self._waiting.append(
            Request(self._scheme, method, self._target, self._notes, keep, self.address)
        )
        self._answer_next()

    # -- answers

    def _refuse(self) -> None:
        """Answer something that is not HTTP.

        It is logged too, after the request that is being answered.
        """
        self._book("left")
        request = Request(
            self._scheme, "", self._target or "/", self._notes, keep=False, address=self.address
        )
        hit = self._begin(request)
        hit.status = 400
        self._write(hit, BAD_REQUEST)
        self._end("sent")

    def _answer_next(self) -> None:
        """Take the next request once the last one is answered. A plain answer needs no task."""
        while self._waiting and self._hit is None and not self._closing:
            request = self._waiting.popleft()
            hit = self._begin(request)
            answer, hit.attempt, hit.outage = self._desk.answer(request)
            hit.edition = answer.edition
            hit.status = 0 if answer.script is not None else answer.status
            hit.retry_after = ceil(answer.retry_after)
            later = self._desk.latency + answer.delay
            if not later and answer.script is None:
                self._write(hit, self._whole(request, answer), last=True)
                if self._drained.is_set():
                    self._sent(request, answer)
                    continue
            self._task = asyncio.get_running_loop().create_task(
                self._answer(hit, request, answer, later)
            )

    async def _answer(self, hit: Hit, request: Request, answer: WebAnswer, later: float) -> None:
        """Send an answer that takes time, or waits for one that was not sent at once."""
        # The loop's own clock may be late by a turn, and its timers early by that.
        while (rest := hit.started + later - time.monotonic()) > 0:  # noqa: ASYNC110 -- there is no event but the time
            await asyncio.sleep(rest)
        self._latest = time.monotonic()
        if answer.script is not None:
            await self._play(hit, answer)
        elif not hit.bytes:
            self._write(hit, self._whole(request, answer), last=True)
        await self._drained.wait()
        hit.ended = hit.ended or max(self._latest, self._desk.pulse.since())
        self._sent(request, answer)
        self._answer_next()

    async def _play(self, hit: Hit, answer: WebAnswer) -> None:
        for step in answer.script or ():
            if isinstance(step, float):
                await asyncio.sleep(step)
                self._latest = time.monotonic()
                continue
            if not hit.bytes and step.startswith(b"HTTP/1."):
                hit.status = int(step[9:12])
            await asyncio.sleep(0)  # an endless script must not starve other connections
            self._write(hit, step)
            await self._drained.wait()
        if answer.ending is ConnectionEnd.HANG:
            await asyncio.sleep(inf)

    def _write(self, hit: Hit, data: bytes, *, last: bool = False) -> None:
        """Send data.

        An answer that fits into the kernel's buffer ends before it: the client may have it at once.
        """
        hit.bytes += len(data)
        # before: this process may lose its core while the client has the last bytes
        self._latest = time.monotonic()
        if last and len(data) <= AT_ONCE:
            hit.ended = self._latest
        self._transport.write(data)

    def _whole(self, request: Request, answer: WebAnswer) -> bytes:
        body = answer.body
        close = answer.ending is ConnectionEnd.CLOSE or not request.keep
        length = len(body) if answer.sized else None
        top = head(
            answer,
            answer.date or self._desk.date,
            length=length,
            close=close,
            chunked=answer.chunked,
        )
        if request.method == "HEAD":
            return top
        if not answer.chunked:
            return top + body
        pieces = (chunk(body[start : start + CHUNK]) for start in range(0, len(body), CHUNK))
        return b"".join((top, *pieces, LAST_CHUNK))

    def _sent(self, request: Request, answer: WebAnswer) -> None:
        ending = (
            ConnectionEnd.CLOSE
            if answer.ending is ConnectionEnd.KEEP and not request.keep
            else answer.ending
        )
        self._task = None
        self._end("reset" if ending is ConnectionEnd.RESET else "sent", ending)

    def _begin(self, request: Request) -> Hit:
        self._desk.begun += 1
        self._hit = hit = Hit(
            time.monotonic(), time.time(), request.url, self.address, self._client
        )
        hit.agent = request.notes.get("agent", "")
        hit.conditional = "etag" in request.notes or "since" in request.notes
        return hit

    def _book(self, outcome: str) -> None:
        """End and log the request in progress, if there is one."""
        hit, self._hit = self._hit, None
        if hit is not None:
            hit.ended = hit.ended or time.monotonic()
            hit.outcome = outcome
            self._desk.finished(hit)

    def _end(self, outcome: str, ending: ConnectionEnd = ConnectionEnd.CLOSE) -> None:
        """End the request in progress, and the connection too unless it is kept."""
        self._book(outcome)
        if ending is not ConnectionEnd.KEEP:
            self._close(ending)

    def _close(self, ending: ConnectionEnd) -> None:
        if self._closing:
            return
        self._closing = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        if ending is ConnectionEnd.RESET:
            linger = struct.pack("ii", 1, 0)  # with a time of 0, closing sends a reset
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
            self._transport.abort()
        else:
            self._transport.close()
