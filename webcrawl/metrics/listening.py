"""Answers GET /metrics on the crawl's event loop, and nothing else; no client can hold it up or make it grow."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

import httptools

from webcrawl.net.listening import BACKLOG

MOST = 8  # connections at once: a scraper needs one
PATIENCE = 10.0  # seconds for a request and its answer
LONGEST = 8192  # bytes of a request
FRESH = 1.0  # seconds for which an answer is given again
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Listener:
    """`text` makes the answer. At most one look at the crawl per second, whoever asks how often."""

    def __init__(self, listening: socket.socket, text: Callable[[], bytes]) -> None:
        self._text, self._socket = text, listening
        self.open: dict[Asked, None] = {}  # the oldest first
        self._server: asyncio.Server | None = None
        self._answer, self._made_at = b"", float("-inf")

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Asked(self), sock=self._socket, backlog=BACKLOG
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        for one in list(self.open):
            one.abort()

    def answer(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if now - self._made_at >= FRESH:
            self._answer, self._made_at = self._text(), now
        return self._answer


class Asked(asyncio.Protocol):
    """One connection: one request, one answer."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._received = 0
        self._target = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        others = self._listener.open
        if len(others) >= MOST:  # the oldest has had its time: whoever holds them all keeps nobody out
            oldest = next(iter(others))
            del others[oldest]
            oldest.abort()
        others[self] = None
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._listener.open.pop(self, None)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def abort(self) -> None:
        """Ends the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._received += len(data)
        if self._received > LONGEST:
            self._reply("431 Request Header Fields Too Large")
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reply("400 Bad Request")

    # -- httptools'

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_headers_complete(self) -> None:
        if self._parser.get_method() != b"GET":
            self._reply("405 Method Not Allowed", more="Allow: GET\r\n")
        elif self._target.partition(b"?")[0] != b"/metrics":
            self._reply("404 Not Found")
        else:
            self._reply("200 OK", self._listener.answer(), TYPE)

    def _reply(self, status: str, body: bytes = b"", kind: str = "text/plain; charset=utf-8", more: str = "") -> None:
        if self._transport is None or self._transport.is_closing():
            return
        body = body or f"{status}\n".encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}"
        self._transport.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        self._transport.close()
