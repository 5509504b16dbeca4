"""Listening sockets that outages close and open again."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Protocol

from webcrawl.simweb import sockets
from webcrawl.simweb.dns import Udp
from webcrawl.simweb.outages import State


class Door(Protocol):
    """The socket of one address."""

    address: str
    state: State | None

    async def become(self, state: State) -> None: ...

    def close(self) -> None: ...


class StreamDoor:
    """A TCP socket; asyncio gets a duplicate, and may close that one.

    To refuse, the socket is shut down: it keeps its port, but Linux resets whoever connects. To lose, its queue is made
    as short as possible and filled by a connection of our own: Linux then drops what arrives, and the client waits.
    """

    state: State | None = None

    def __init__(self, kept: socket.socket, serve: Callable[[socket.socket], Awaitable[asyncio.Server]]) -> None:
        self.address: str = kept.getsockname()[0]
        self._kept, self._serve = kept, serve
        self._server: asyncio.Server | None = None
        self._filling: socket.socket | None = None

    async def become(self, state: State) -> None:
        self.state = state
        self.close()
        if state is State.OPEN:
            self._server = await self._serve(self._kept.dup())
        elif state is State.REFUSED:
            self._kept.shutdown(socket.SHUT_RDWR)
        else:
            self._kept.listen(0)
            self._filling = socket.socket(self._kept.family, socket.SOCK_STREAM)
            self._filling.setblocking(False)
            self._filling.connect_ex(self._kept.getsockname())

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._filling is not None:
            self._filling.close()
        self._server = self._filling = None


class DatagramDoor:
    """A UDP socket. Refusing, it is closed; Linux says so to whoever sends to its port."""

    state: State | None = None

    def __init__(self, kept: socket.socket, protocol: Callable[[], Udp]) -> None:
        self.address: str = kept.getsockname()[0]
        self._port, self._protocol = kept.getsockname()[1], protocol
        self._kept: socket.socket | None = kept
        self._serving: Udp | None = None

    async def become(self, state: State) -> None:
        self.state = state
        if state is State.OPEN:
            kept, self._kept = self._kept or sockets.datagrams(self.address, self._port), None
            _, self._serving = await asyncio.get_running_loop().create_datagram_endpoint(self._protocol, sock=kept)
            return
        if self._kept is not None:  # it has never been open
            self._kept.close()
            self._kept = None
        if self._serving is not None:
            self._serving.stop()
            await self._serving.closed  # only then its port is free
            self._serving = None

    def close(self) -> None:
        if self._serving is not None:
            self._serving.stop()
