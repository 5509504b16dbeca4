"""A port of the crawl's own, for whoever asks it something."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import cast

import httptools

BACKLOG = 64
PLAIN = "text/plain; charset=utf-8"


class CannotListen(OSError):  # noqa: N818 - reads as what it is
    """Nobody can reach us there; the message is one line."""


def bound(host: str, port: int, setting: str) -> socket.socket:
    """A socket that listens. Raises CannotListen, which names the setting."""
    family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
    listener = None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection of the last run may linger
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise CannotListen(f"{setting}: cannot listen on {host}, port {port}: {error.strerror or error}") from error
    return listener


class Listener:
    """Serves a port on the crawl's event loop. `make` makes what a new connection is to be."""

    def __init__(self, listening: socket.socket, make: Callable[[], Connection]) -> None:
        self._socket, self._make = listening, make
        self.open: dict[Connection, None] = {}  # the oldest first
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(self._make, sock=self._socket, backlog=BACKLOG)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        for one in list(self.open):
            one.abort()


class Connection(asyncio.Protocol):
    """One request, one answer, within `patience` seconds. There are `most` at once: then the oldest gives way.

    It has had its time, so whoever holds them all keeps nobody out.
    """

    def __init__(self, others: dict[Connection, None], most: int, patience: float) -> None:
        self._others, self._most, self._patience = others, most, patience
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if len(self._others) >= self._most:
            oldest = next(iter(self._others))
            del self._others[oldest]
            oldest.abort()
        self._others[self] = None
        self._timer = asyncio.get_running_loop().call_later(self._patience, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._others.pop(self, None)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def abort(self) -> None:
        """Ends the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be read or answered."""
        return self._transport is None or self._transport.is_closing()

    def parse(self, data: bytes) -> bool:
        """Has the subclass told what came; False, and an answer, if it is no request."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.reply("400 Bad Request")
            return False
        return True

    def reply(self, status: str, body: bytes | None = None, kind: str = PLAIN, more: str = "") -> None:
        """Answers, by default with the status alone, and ends the connection. `more`: other header lines."""
        if self._transport is None or self._transport.is_closing():
            return
        body = f"{status}\n".encode() if body is None else body
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nX-Content-Type-Options: nosniff\r\n"
            f"Content-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        self._transport.close()
