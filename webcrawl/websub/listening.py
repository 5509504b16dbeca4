"""The callback that hubs reach: asyncio, one request per connection, everything bounded."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from webcrawl.net.listening import Connection, Listener

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


class Callback(Listener):
    """The server. `verify` answers questions; `push` takes what is sent to a token that `knows` knows.

    Who knows no token sends no body: nothing of a stranger's is kept.
    """

    def __init__(
        self, listening: socket.socket, verify: Verify, push: Callable[[Push], None], knows: Callable[[str], bool]
    ) -> None:
        super().__init__(listening, lambda: Asked(self))
        self.verify, self.push, self.knows = verify, push, knows

    def __repr__(self) -> str:
        return f"<Callback open={len(self.open)}>"


class Asked(Connection):
    """A hub that verifies, or pushes."""

    def __init__(self, callback: Callback) -> None:
        super().__init__(callback.open, MOST, PATIENCE)
        self._callback = callback
        self._head = 0  # bytes that came before the body
        self._rest = 0  # bytes that came since, chunked or not
        self._in_body = False
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._body.clear()

    def data_received(self, data: bytes) -> None:
        if self.is_over:
            return
        if not self._in_body:
            self._head += len(data)
            if self._head > HEAD + BODY:
                self.reply("431 Request Header Fields Too Large")
                return
        else:
            self._rest += len(data)
            if self._rest > FRAMED:
                self.reply("413 Content Too Large")
                return
        if self.parse(data) and not self._in_body and self._head > HEAD:
            self.reply("431 Request Header Fields Too Large")

    # -- httptools'

    def on_url(self, part: bytes) -> None:
        if len(self._target) <= HEAD:
            self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.setdefault(name.lower(), value or b"")

    def on_headers_complete(self) -> None:
        if self.is_over:  # a second request, right behind the first one
            return
        self._in_body = True
        method = self._parser.get_method()
        length = self._headers.get(b"content-length", b"")
        if method == b"GET":
            self._verify()
        elif method != b"POST":
            self.reply("405 Method Not Allowed", more="Allow: GET, POST\r\n")
        elif len(length) > 19 or (length.isdigit() and int(length) > BODY):
            self.reply("413 Content Too Large")
        elif not self._callback.knows(self._token):
            self.reply("404 Not Found")
        elif self._headers.get(b"expect", b"").lower() == b"100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        if self.is_over:
            return
        if len(self._body) + len(part) > BODY:
            self.reply("413 Content Too Large")
        else:
            self._body += part

    def on_message_complete(self) -> None:
        """A push is accepted whether it is believed or not: nobody learns a secret from our answers."""
        if self.is_over:
            return
        push = Push(self._token, self._said(b"x-hub-signature"), self._said(b"content-type"), bytes(self._body))
        self._body.clear()
        self.reply("202 Accepted")
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
            self.reply("400 Bad Request")
            return
        answer = self._callback.verify(self._token, said)
        if answer is None:
            self.reply("404 Not Found")
        else:
            self.reply("200 OK", answer.encode())
