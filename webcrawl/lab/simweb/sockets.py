"""Listening sockets, on loopback addresses only, and what outages do to them."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from math import isfinite
from typing import Protocol

from webcrawl.lab.simweb import name_server
from webcrawl.lab.simweb.http_server import Connection
from webcrawl.lab.simweb.name_server import Udp
from webcrawl.lab.simweb.outages import AddressState, Board
from webcrawl.lab.simweb.world import World

TRIES = 20  # of a port that is free on one address, and perhaps not on the others
BACKLOG = 2048  # connections that may wait until they are accepted


def listen(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Return a TCP socket on each address, all with the same port.

    Port 0 is any port that is free on all of them.
    """
    for attempt in range(TRIES):
        opened: list[socket.socket] = []
        try:
            number = port or _free(addresses[0])
            for address in addresses:
                opened.append(_bound(address, number, socket.SOCK_STREAM))
                opened[-1].listen(BACKLOG)
        except OSError as error:
            close(opened)
            # A port that was asked for is that one or none
            if port or error.errno != errno.EADDRINUSE or attempt + 1 == TRIES:
                raise
        else:
            return opened
    raise AssertionError  # the last attempt has raised


def listen_pairs(addresses: Sequence[str], port: int) -> list[tuple[socket.socket, socket.socket]]:
    """Return a UDP and a TCP socket on each address, all with the same port."""
    for attempt in range(TRIES):
        streams = listen(addresses, port)
        opened: list[socket.socket] = []
        try:
            for address in addresses:
                opened.append(datagrams(address, streams[0].getsockname()[1]))  # noqa: PERF401 -- for the case of an error
        except OSError:
            close([*streams, *opened])
            if port or attempt + 1 == TRIES:
                raise
        else:
            return [*zip(opened, streams, strict=True)]
    raise AssertionError  # the last attempt has raised


def datagrams(address: str, port: int) -> socket.socket:
    return _bound(address, port, socket.SOCK_DGRAM)


def close(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()


def _free(address: str) -> int:
    """Return a free port.

    Only a socket that was bound to a port by number keeps it while it does not listen.
    """
    probe = _bound(address, 0, socket.SOCK_STREAM)
    number: int = probe.getsockname()[1]
    probe.close()
    return number


def _bound(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    try:
        if kind is socket.SOCK_STREAM:
            # Connections of the test before may linger on the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setblocking(False)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made


class Door(Protocol):
    """The socket of one address."""

    address: str
    state: AddressState | None

    async def become(self, state: AddressState) -> None: ...

    def close(self) -> None: ...


class StreamDoor:
    """A TCP socket; asyncio gets a duplicate, and may close that one.

    To refuse, the socket is shut down: it keeps its port, but Linux resets whoever connects. To
    lose, its queue is made as short as possible and filled by a connection of our own: Linux then
    drops what arrives, and the client waits.
    """

    state: AddressState | None = None

    def __init__(
        self, kept: socket.socket, serve: Callable[[socket.socket], Awaitable[asyncio.Server]]
    ) -> None:
        self.address: str = kept.getsockname()[0]
        self._kept = kept
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._filling: socket.socket | None = None

    async def become(self, state: AddressState) -> None:
        self.state = state
        self.close()
        if state is AddressState.OPEN:
            self._server = await self._serve(self._kept.dup())
        elif state is AddressState.REFUSED:
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
        self._server = None
        self._filling = None


class DatagramDoor:
    """A UDP socket. Refusing, it is closed; Linux says so to whoever sends to its port."""

    state: AddressState | None = None

    def __init__(self, kept: socket.socket, protocol: Callable[[], Udp]) -> None:
        self.address: str = kept.getsockname()[0]
        self._port = kept.getsockname()[1]
        self._protocol = protocol
        self._kept: socket.socket | None = kept
        self._serving: Udp | None = None

    async def become(self, state: AddressState) -> None:
        self.state = state
        if state is AddressState.OPEN:
            kept, self._kept = self._kept or datagrams(self.address, self._port), None
            _, self._serving = await asyncio.get_running_loop().create_datagram_endpoint(
                self._protocol, sock=kept
            )
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


PATIENCE = 30.0  # seconds for the server to do what a test has asked for


class Weather:
    """`doors` are those of the hosts, `servers` those of the name servers."""

    def __init__(
        self,
        world: World,
        board: Board,
        doors: Sequence[Door],
        servers: Sequence[Door],
        connections: Iterable[Connection],
    ) -> None:
        self._world = world
        self._board = board
        self._doors = doors
        self._servers = servers
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the doors.

        From now on outages take effect, and those that are planned count from here.
        """
        self._board.restart()
        self._board.changed = self._changed
        await self._settle()

    def stop(self) -> None:
        self._board.changed = lambda: None
        if self._timer is not None:
            self._timer.cancel()
        for door in (*self._doors, *self._servers):
            door.close()

    def _changed(self) -> None:
        """Settle; when another thread has called, it has been done on return."""
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            self._later()
        else:
            asyncio.run_coroutine_threadsafe(self._settle(), self._loop).result(PATIENCE)

    def _later(self) -> None:
        task = self._loop.create_task(self._settle())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self) -> None:
        async with self._turn:
            seconds = self._board.next_change()  # first: what changes meanwhile must not be missed
            for door in self._doors:
                state, outage = self._board.of_address(
                    door.address, partial(self._names, door.address)
                )
                if state is not door.state:
                    await door.become(state)
                    self._tell(door.address, state, outage)
            for door in self._servers:
                state = self._board.of_server(door.address)
                if state is not door.state:
                    await door.become(state)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(seconds, self._later) if isfinite(seconds) else None

    def _tell(self, address: str, state: AddressState, outage: str) -> None:
        """Close or keep the connections that are open, as the outage wants."""
        for connection in [one for one in self._connections if one.address == address]:
            if state is AddressState.REFUSED:
                connection.cut(outage)
            elif state is AddressState.LOST:
                connection.lose(outage)

    def _names(self, address: str) -> Iterator[str]:
        """Return the names of the hosts at this address."""
        world = self._world
        end = world.hosts + len(world.annex)
        every = (
            range(end)
            if name_server.IPV6 in world.mix
            else range(_index(address), end, world.addresses)
        )
        return (world.name(host) for host in every if world.address(host) == address)


def _index(address: str) -> int:
    """Return the number of an address among those of a world."""
    *_, high, low = map(int, address.split("."))
    return high * 250 + low - 1
