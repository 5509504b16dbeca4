"""The HTTP server for the ports of the crawl's own: one request per connection, everything bounded.

A request's Host header must name this server: another site's page can lead its name here (DNS
rebinding), and browsers let that page read the answers then, because to them it is its own server.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import cast

import httptools

from webcrawl.base.errors import with_place

logger = logging.getLogger(__name__)


def split_host(header: str) -> tuple[str, int | None]:
    """Name and port of a Host header; a port that is none is not ours."""
    name, colon, port = header.lower().rpartition(":")
    if not colon or header.endswith("]"):
        # Without a port, or only the colons of an IPv6 address
        name = header.lower()
        port = "80"
    name = name.removeprefix("[").removesuffix("]")
    is_number = port.isascii() and port.isdecimal()
    if not is_number or len(port) > 5:
        return name, None
    return name, int(port)


def is_own_name(name: str, bound: str) -> bool:
    """Return whether this can be the name of a server on the address `bound`.

    A name that can be registered cannot.
    """
    if name in ("localhost", bound):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # An address cannot be registered; but a server on loopback has no others
    return address.is_loopback or not is_loopback(bound)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


BACKLOG = 64  # connections that wait to be accepted
PLAIN = "text/plain; charset=utf-8"
TOO_LARGE = "413 Content Too Large"
FRAME = 4  # bytes around the name and the value of a header: ": " and the end of the line


class CannotListen(OSError):  # noqa: N818 - reads as what it is
    """The port cannot be opened. The message is one line."""


def bound(host: str, port: int, setting: str) -> socket.socket:
    """Return a socket that listens. Raise CannotListen, which names the setting."""
    family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
    listener = None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        # a connection of the last run may linger
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise CannotListen(
            f"{setting}: cannot listen on {host}, port {port}: {error.strerror or error}"
        ) from error
    return listener


def is_named(host: str, bound_to: str) -> bool:
    """Return whether a Host header names the server on this address.

    The port may be another, behind a tunnel.

    The name of this machine does, except on loopback, where it is not needed. So does a longer one
    that /etc/hosts has for it, as that of a pod behind a headless service, or the beginning of one.
    """
    name, _ = split_host(host)
    if is_own_name(name, bound_to):
        return True
    if is_loopback(bound_to):
        return False
    return any(f"{own}.".startswith(f"{name}.") for own in _machine_names())


def _machine_names(hosts: Path = Path("/etc/hosts")) -> Iterator[str]:
    me = socket.gethostname().lower()
    yield me
    with suppress(OSError):
        for line in hosts.read_text(encoding="utf-8", errors="replace").lower().splitlines():
            _, *names = line.partition("#")[0].split() or [""]
            if me in names:
                yield from names


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The bounds for clients of a server."""

    connections: int  # at once: then the oldest gives way, which has had its time
    patience: float  # seconds for a request and its answer
    head: int  # bytes of a request line and its headers
    body: int = 0
    # bytes of a body with what is around its chunks, and with what follows the last one
    framed: int = 0


class Listener:
    """Serves a port on the crawl's event loop. `make` makes what a new connection is to be."""

    def __init__(self, listening: socket.socket, make: Callable[[], ServerConnection]) -> None:
        self._socket = listening
        self._make = make
        self.open: dict[ServerConnection, None] = {}  # the oldest first
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            self._make, sock=self._socket, backlog=BACKLOG
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        for one in list(self.open):
            one.abort()


class ServerConnection(asyncio.Protocol):
    """One request, one answer.

    A subclass answers in `head_received`, before the body is read, or in `received`.
    """

    too_long_head = "431 Request Header Fields Too Large"

    def __init__(self, others: dict[ServerConnection, None], limits: ClientLimits) -> None:
        """`others`: all open connections, this one included while it is open."""
        self._others = others
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._head = 0  # bytes that came until the head was complete
        self._rest = 0  # bytes that came since
        self._is_complete = False  # the head
        self._is_whole = False  # the request
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []  # names in lower case
        self.body = bytearray()

    def head_received(self) -> None:
        """Act on the head: `method`, `target` and `headers` are known."""

    def received(self) -> None:
        """Act on a request that is complete and was not answered yet."""

    @property
    def method(self) -> bytes:
        return bytes(self._parser.get_method())

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of all headers with this name, which is in lower case."""
        return [value for one, value in self.headers if one == name]

    @property
    def is_over(self) -> bool:
        """Return whether nothing more is to be read or answered."""
        return self._transport is None or self._transport.is_closing()

    def reply(
        self, status: str, body: bytes | None = None, kind: str = PLAIN, more: str = ""
    ) -> None:
        """Answer, by default with the status alone, and end the connection.

        `more`: other header lines.
        """
        if self._transport is None or self._transport.is_closing():
            return
        body = f"{status}\n".encode() if body is None else body
        head = (
            # nosniff: a browser must not take a text of a stranger's for a page of ours
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nX-Content-Type-Options: nosniff\r\n"
            f"Content-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if len(self._others) >= self._limits.connections:
            oldest = next(iter(self._others))
            del self._others[oldest]
            oldest.abort()
        self._others[self] = None
        self._timer = asyncio.get_running_loop().call_later(self._limits.patience, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._others.pop(self, None)
        self._transport = None
        self.body.clear()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse bytes of a request; answer one that is too large or malformed with an error."""
        if self._is_done:
            return
        if self._is_complete:
            self._rest += len(data)
            if self._rest > self._limits.framed:
                self.reply(TOO_LARGE)
                return
        else:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            # a mistake of ours, of which the client is not to be told
            logger.error("%s: %s", type(self).__name__, with_place(error.__context__ or error))  # noqa: TRY400
            self.reply("500 Internal Server Error")
            return
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.reply("400 Bad Request")
            return
        if not self._is_complete and self._head > self._limits.head:
            self.reply(self.too_long_head)

    # -- httptools', which goes on with a second request in the same data

    @property
    def _is_done(self) -> bool:
        return self._is_whole or self.is_over

    def on_url(self, part: bytes) -> None:
        if not self._is_done:
            self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_complete:
            self.headers.append((name.lower(), value or b""))

    def on_headers_complete(self) -> None:
        """Check the sizes, call `head_received`, and let a client that asks send the body."""
        if self._is_done:
            return
        self._is_complete = True
        size = len(self.target) + sum(
            len(name) + len(value) + FRAME for name, value in self.headers
        )
        if size > self._limits.head:
            self.reply(self.too_long_head)
            return
        self.head_received()
        if self.is_over:
            return
        if self._announces_too_much():
            self.reply(TOO_LARGE)
            return
        expectations = [value.lower() for value in self.values(b"expect")]
        if self._transport is not None and b"100-continue" in expectations:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        if self._is_done:
            return
        if len(self.body) + len(part) > self._limits.body:
            self.reply(TOO_LARGE)
        else:
            self.body += part

    def on_message_complete(self) -> None:
        if not self._is_done:
            self._is_whole = True
            self.received()

    def _announces_too_much(self) -> bool:
        for length in self.values(b"content-length"):
            # `int` takes long for a number of very many digits.
            if len(length) > 19:
                return True
            if length.isdigit() and int(length) > self._limits.body:
                return True
        return False
