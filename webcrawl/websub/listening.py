"""The callback that hubs reach: asyncio, one request per connection, everything bounded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast
from urllib.parse import parse_qsl

import httptools

from webcrawl.net.listening import BACKLOG

MOST = 64  # connections at once; the oldest gives way
PATIENCE = 20.0  # seconds for a request and its answer
HEAD = 16 << 10  # bytes of a request line and its headers
BODY = 2 << 20  # bytes of a push
FRAMED = 2 * BODY  # the same with what is around its chunks, and with what follows the last one
FIELDS = 32  # of a query
PREFIX = "/"


class Push(NamedTuple):
    """What a hub has sent."""

    token: str
    signature: str
    content_type: str
    body: bytes


Verify = Callable[[str, Mapping[str, str]], str | None]
"""What to answer a hub that verifies, or None for 404."""


class Callback:
    """The server. `verify` answers questions; `push` takes what is sent to a token that `knows` knows.

    Who knows no token sends no body: nothing of a stranger's is kept.
    """

    def __init__(
        self, listening: socket.socket, verify: Verify, push: Callable[[Push], None], knows: Callable[[str], bool]
    ) -> None:
        self._socket, self.verify, self.push, self.knows = listening, verify, push, knows
        self.open: dict[Asked, None] = {}  # the oldest first
        self._server: asyncio.Server | None = None

    def __repr__(self) -> str:
        return f"<Callback open={len(self.open)}>"

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


class Asked(asyncio.Protocol):
    """One connection: one request, one answer."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._head = 0  # bytes that came before the body
        self._rest = 0  # bytes that came since, chunked or not
        self._in_body = False
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        others = self._callback.open
        if len(others) >= MOST:  # whoever holds them all keeps nobody out
            oldest = next(iter(others))
            del others[oldest]
            oldest.abort()
        others[self] = None
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._callback.open.pop(self, None)
        self._transport = None
        self._body.clear()
        if self._timer is not None:
            self._timer.cancel()

    def abort(self) -> None:
        """Ends the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if not self._in_body:
            self._head += len(data)
            if self._head > HEAD + BODY:
                self._reply("431 Request Header Fields Too Large")
                return
        else:
            self._rest += len(data)
            if self._rest > FRAMED:
                self._reply("413 Content Too Large")
                return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reply("400 Bad Request")
        else:
            if not self._in_body and self._head > HEAD:
                self._reply("431 Request Header Fields Too Large")

    @property
    def _is_over(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    # -- httptools'

    def on_url(self, part: bytes) -> None:
        if len(self._target) <= HEAD:
            self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.setdefault(name.lower(), value or b"")

    def on_headers_complete(self) -> None:
        if self._is_over:  # a second request, right behind the first one
            return
        self._in_body = True
        method = self._parser.get_method()
        length = self._headers.get(b"content-length", b"")
        if method == b"GET":
            self._verify()
        elif method != b"POST":
            self._reply("405 Method Not Allowed", more="Allow: GET, POST\r\n")
        elif len(length) > 19 or (length.isdigit() and int(length) > BODY):
            self._reply("413 Content Too Large")
        elif not self._callback.knows(self._token):
            self._reply("404 Not Found")
        elif self._headers.get(b"expect", b"").lower() == b"100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        if self._is_over:
            return
        if len(self._body) + len(part) > BODY:
            self._reply("413 Content Too Large")
        else:
            self._body += part

    def on_message_complete(self) -> None:
        """A push is accepted whether it is believed or not: nobody learns a secret from our answers."""
        if self._is_over:
            return
        push = Push(self._token, self._said(b"x-hub-signature"), self._said(b"content-type"), bytes(self._body))
        self._body.clear()
        self._reply("202 Accepted")
        self._callback.push(push)

    # -- answers

    @property
    def _token(self) -> str:
        """The last part of the path: a server before us may have added others."""
        path = self._target.partition(b"?")[0].decode("latin-1")
        return path.rpartition(PREFIX)[2]

    def _said(self, name: bytes) -> str:
        return self._headers.get(name, b"").decode("latin-1")

    def _verify(self) -> None:
        query = self._target.partition(b"?")[2].decode("latin-1")
        try:
            said = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=FIELDS))
        except ValueError:
            self._reply("400 Bad Request")
            return
        answer = self._callback.verify(self._token, said)
        if answer is None:
            self._reply("404 Not Found")
        else:
            self._reply("200 OK", answer.encode())

    def _reply(self, status: str, body: bytes | None = None, more: str = "") -> None:
        if self._transport is None or self._transport.is_closing():
            return
        body = f"{status}\n".encode() if body is None else body
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"
            f"Content-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        self._transport.close()
