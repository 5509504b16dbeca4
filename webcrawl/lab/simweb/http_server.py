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

BEAT_SECONDS = 0.005
# The loop takes two turns from a client's leaving until it calls `connection_lost`, or four with
# TLS. Some more are kept to be sure
TURNS_KEPT = 6


class Heartbeat:
    """Records the time at regular beats, each in another turn of the loop.

    A busy machine, or an answer that takes long to make, lets a loop stand still for half a second.
    All that clients did meanwhile then seems to happen at once, and afterwards.
    """

    def __init__(self) -> None:
        self._beats: deque[float] = deque(maxlen=TURNS_KEPT)
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._beats.append(time.monotonic())
        self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def earliest_moment(self) -> float:
        """Return a moment, in monotonic seconds, before which nothing happened that is noticed now.

        It is 0 if no time has been recorded yet.
        """
        return self._beats[0] if self._beats else 0.0


BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
HEADER_NOTES = {
    b"host": "host",
    b"user-agent": "agent",
    b"accept-encoding": "accept",
    b"if-none-match": "etag",
    b"if-modified-since": "since",
}
CHUNK_BYTES = 8192
SOCKET_BUFFER_BYTES = 1 << 16  # that fit into a socket's empty buffer


@dataclass(slots=True)
class HttpRequest:
    """A request as received."""

    scheme: str
    method: str
    target: str
    # the headers that an answer or the log may depend on, by their names in HEADER_NOTES
    notes: dict[str, str]
    keep: bool  # the client wants to keep the connection
    address: str  # the server's

    @property
    def host(self) -> str:
        """Return the host's name without its port."""
        return self.notes.get("host", "").partition(":")[0].lower()

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.notes.get('host', '').lower()}{self.target}"


@dataclass(slots=True)
class ServerState:
    """The state that all connections share."""

    # returns the answer, which request for its URL this is (from 1), and the outage that decided it
    answer: Callable[[HttpRequest], tuple[WebAnswer, int, str]]
    log_hit: Callable[[Hit], None]
    latency: float  # seconds before each answer
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    connections: set[Connection] = field(default_factory=set)
    date: str = ""  # the Date header of all answers, renewed once a second
    requests_begun: int = 0  # answered or not


class Connection(asyncio.Protocol):
    """A connection of HTTP/1.1. Requests may be pipelined; they are answered one after the other.

    The request that is being answered is `_hit`. It goes to the log when its answer ends.
    """

    def __init__(self, server_state: ServerState, scheme: str) -> None:
        """Create the protocol of a new connection; `scheme` is that of its URLs."""
        self._server_state = server_state
        self._scheme = scheme
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[HttpRequest] = deque()
        self._hit: Hit | None = None  # the request that is being answered
        self._last_moment = 0.0  # monotonic seconds: when a write began, or a pause was over
        self._task: asyncio.Task[None] | None = None
        # Set unless asyncio has paused writing: the kernel has all that was written
        self._buffer_has_room = asyncio.Event()
        self._buffer_has_room.set()
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
        self._server_state.connections.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._server_state.connections.discard(self)
        if self._hit is not None:
            self._hit.ended = self._hit.ended or max(
                self._hit.started, self._server_state.heartbeat.earliest_moment()
            )
        self._end("left")
        self.closed.set_result(None)

    def pause_writing(self) -> None:
        self._buffer_has_room.clear()

    def resume_writing(self) -> None:
        self._buffer_has_room.set()

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

    def reset(self, outage: str) -> None:
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
        noted = HEADER_NOTES.get(name.lower())
        if noted is not None:
            self._notes[noted] = value.decode("latin-1")

    def on_message_complete(self) -> None:
        method, keep = self._parser.get_method().decode(), self._parser.should_keep_alive()
        self._waiting.append(
            HttpRequest(self._scheme, method, self._target, self._notes, keep, self.address)
        )
        self._answer_next()

    # -- answers

    def _refuse(self) -> None:
        """Answer bytes that are not HTTP with a 400, and close the connection.

        The request that is being answered is logged first, as left by the client.
        """
        self._finish_hit("left")
        request = HttpRequest(
            self._scheme, "", self._target or "/", self._notes, keep=False, address=self.address
        )
        hit = self._begin(request)
        hit.status = 400
        self._write(hit, BAD_REQUEST)
        self._end("sent")

    def _answer_next(self) -> None:
        """Answer the waiting requests, until one needs time; a task goes on from there."""
        while self._waiting and self._hit is None and not self._closing:
            request = self._waiting.popleft()
            hit = self._begin(request)
            answer, hit.attempt, hit.outage = self._server_state.answer(request)
            hit.edition = answer.edition
            hit.status = 0 if answer.script is not None else answer.status
            hit.retry_after = ceil(answer.retry_after)
            delay = self._server_state.latency + answer.delay
            if not delay and answer.script is None:  # a plain answer needs no task
                self._write(hit, self._whole_answer(request, answer), last=True)
                if self._buffer_has_room.is_set():
                    self._sent(request, answer)
                    continue
            self._task = asyncio.get_running_loop().create_task(
                self._answer(hit, request, answer, delay)
            )

    async def _answer(
        self, hit: Hit, request: HttpRequest, answer: WebAnswer, delay: float
    ) -> None:
        """Send an answer that takes time, or wait until one that was written has been sent."""
        # The loop's own clock may be late by a turn, and its timers early by that
        while (rest := hit.started + delay - time.monotonic()) > 0:  # noqa: ASYNC110 -- there is no event but the time
            await asyncio.sleep(rest)
        self._last_moment = time.monotonic()
        if answer.script is not None:
            await self._send_script(hit, answer)
        elif not hit.bytes:  # `_answer_next` has written a plain answer without delay
            self._write(hit, self._whole_answer(request, answer), last=True)
        await self._buffer_has_room.wait()
        # The kernel took the last bytes at some moment since the write. If the loop stood still
        # meanwhile, the earliest moment that is possible counts.
        hit.ended = hit.ended or max(
            self._last_moment, self._server_state.heartbeat.earliest_moment()
        )
        self._sent(request, answer)
        self._answer_next()

    async def _send_script(self, hit: Hit, answer: WebAnswer) -> None:
        """Send the steps of an answer's script. Never return if the answer is to hang at its end."""
        for step in answer.script or ():
            if isinstance(step, float):
                await asyncio.sleep(step)
                self._last_moment = time.monotonic()
                continue
            if not hit.bytes and step.startswith(b"HTTP/1."):
                hit.status = int(step[9:12])
            await asyncio.sleep(0)  # an endless script must not starve other connections
            self._write(hit, step)
            await self._buffer_has_room.wait()
        if answer.ending is ConnectionEnd.HANG:
            await asyncio.sleep(inf)

    def _write(self, hit: Hit, data: bytes, *, last: bool = False) -> None:
        """Send a piece of the answer to this request; `last` says that it is the whole answer.

        If the whole answer fits into the kernel's buffer, it counts as ended before it is written:
        the client may have it at once.
        """
        hit.bytes += len(data)
        # Before the write: this process may lose its core while the client has the last bytes
        self._last_moment = time.monotonic()
        if last and len(data) <= SOCKET_BUFFER_BYTES:
            hit.ended = self._last_moment
        self._transport.write(data)

    def _whole_answer(self, request: HttpRequest, answer: WebAnswer) -> bytes:
        """Return the bytes of an answer that has no script, head and body together."""
        body = answer.body
        close = answer.ending is ConnectionEnd.CLOSE or not request.keep
        length = len(body) if answer.has_length else None
        top = head(
            answer,
            answer.date or self._server_state.date,
            length=length,
            close=close,
            chunked=answer.chunked,
        )
        if request.method == "HEAD":
            return top
        if not answer.chunked:
            return top + body
        pieces = (
            chunk(body[start : start + CHUNK_BYTES]) for start in range(0, len(body), CHUNK_BYTES)
        )
        return b"".join((top, *pieces, LAST_CHUNK))

    def _sent(self, request: HttpRequest, answer: WebAnswer) -> None:
        """End a request whose answer has been sent, and the connection as both sides want it."""
        ending = answer.ending
        if ending is ConnectionEnd.KEEP and not request.keep:
            ending = ConnectionEnd.CLOSE
        self._task = None
        self._end("reset" if ending is ConnectionEnd.RESET else "sent", ending)

    def _begin(self, request: HttpRequest) -> Hit:
        """Return the log entry of a request whose answer begins now."""
        self._server_state.requests_begun += 1
        hit = Hit(time.monotonic(), time.time(), request.url, self.address, self._client)
        self._hit = hit
        hit.agent = request.notes.get("agent", "")
        hit.conditional = "etag" in request.notes or "since" in request.notes
        return hit

    def _finish_hit(self, outcome: str) -> None:
        """End and log the request in progress, if there is one."""
        hit = self._hit
        if hit is None:
            return
        self._hit = None
        hit.ended = hit.ended or time.monotonic()
        hit.outcome = outcome
        self._server_state.log_hit(hit)

    def _end(self, outcome: str, ending: ConnectionEnd = ConnectionEnd.CLOSE) -> None:
        """End the request in progress, and the connection too unless it is kept."""
        self._finish_hit(outcome)
        if ending is not ConnectionEnd.KEEP:
            self._close(ending)

    def _close(self, ending: ConnectionEnd) -> None:
        """Close or reset the connection, and forget its waiting requests."""
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
