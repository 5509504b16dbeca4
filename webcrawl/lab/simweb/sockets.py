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
from webcrawl.lab.simweb.outages import AddressState, OutageSchedule
from webcrawl.lab.simweb.world import World

# Free ports that are tried: one that is free on the first address may be taken on another
PORT_TRIES = 20
BACKLOG = 2048  # connections that may wait until they are accepted


def listen(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Return a listening TCP socket on each address, all with the same port.

    Port 0 stands for any port that is free on all addresses. Raise OSError if there is none.
    """
    for attempt in range(PORT_TRIES):
        opened: list[socket.socket] = []
        try:
            number = port or _free_port(addresses[0])
            for address in addresses:
                opened.append(_bound_socket(address, number, socket.SOCK_STREAM))
                opened[-1].listen(BACKLOG)
        except OSError as error:
            close(opened)
            # A port that was asked for is that one or none
            if port or error.errno != errno.EADDRINUSE or attempt + 1 == PORT_TRIES:
                raise
        else:
            return opened
    raise AssertionError  # the last attempt has raised


def listen_pairs(addresses: Sequence[str], port: int) -> list[tuple[socket.socket, socket.socket]]:
    """Return a UDP and a TCP socket on each address, all with the same port.

    Port 0 stands for any free port. Raise OSError if there is none.
    """
    for attempt in range(PORT_TRIES):
        streams = listen(addresses, port)
        opened: list[socket.socket] = []
        try:
            for address in addresses:
                opened.append(datagrams(address, streams[0].getsockname()[1]))  # noqa: PERF401 -- for the case of an error
        except OSError:
            close([*streams, *opened])
            if port or attempt + 1 == PORT_TRIES:
                raise
        else:
            return [*zip(opened, streams, strict=True)]
    raise AssertionError  # the last attempt has raised


def datagrams(address: str, port: int) -> socket.socket:
    return _bound_socket(address, port, socket.SOCK_DGRAM)


def close(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()


def _free_port(address: str) -> int:
    """Return a port that is free on this address.

    The caller binds it by number: a socket that has bound port 0 does not keep its port while it
    does not listen.
    """
    probe = _bound_socket(address, 0, socket.SOCK_STREAM)
    number: int = probe.getsockname()[1]
    probe.close()
    return number


def _bound_socket(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    """Return a non-blocking socket that is bound to the port. Raise OSError if the port is taken."""
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


class Listener(Protocol):
    """The listening socket of one address; `state` is None until it is first set."""

    address: str
    state: AddressState | None

    async def set_state(self, state: AddressState) -> None:
        """Make the address answer, refuse or ignore clients from now on."""

    def close(self) -> None: ...


class TcpListener:
    """A TCP socket that an outage can make refuse or lose connections.

    Asyncio serves a duplicate of the socket, and may close that one. To refuse, the socket is shut
    down: it keeps its port, but Linux resets whoever connects. To lose, its queue is made as short
    as possible and filled by a connection of our own: Linux then drops what arrives, and the client
    waits.
    """

    state: AddressState | None = None

    def __init__(
        self, kept: socket.socket, serve: Callable[[socket.socket], Awaitable[asyncio.Server]]
    ) -> None:
        self.address: str = kept.getsockname()[0]
        self._socket = kept
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._queue_filler: socket.socket | None = None

    async def set_state(self, state: AddressState) -> None:
        """Serve, refuse or lose connections from now on."""
        self.state = state
        self.close()
        if state is AddressState.OPEN:
            self._server = await self._serve(self._socket.dup())
        elif state is AddressState.REFUSED:
            self._socket.shutdown(socket.SHUT_RDWR)
        else:
            self._socket.listen(0)
            self._queue_filler = socket.socket(self._socket.family, socket.SOCK_STREAM)
            self._queue_filler.setblocking(False)
            self._queue_filler.connect_ex(self._socket.getsockname())

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._queue_filler is not None:
            self._queue_filler.close()
        self._server = None
        self._queue_filler = None


class UdpListener:
    """A UDP socket that an outage can close.

    While it is closed, Linux tells whoever sends to its port that nothing is there.
    """

    state: AddressState | None = None

    def __init__(self, kept: socket.socket, protocol: Callable[[], Udp]) -> None:
        self.address: str = kept.getsockname()[0]
        self._port = kept.getsockname()[1]
        self._protocol = protocol
        self._socket: socket.socket | None = kept
        self._serving: Udp | None = None

    async def set_state(self, state: AddressState) -> None:
        """Serve from now on, or close the socket."""
        self.state = state
        if state is AddressState.OPEN:
            opened = self._socket or datagrams(self.address, self._port)
            self._socket = None
            _, self._serving = await asyncio.get_running_loop().create_datagram_endpoint(
                self._protocol, sock=opened
            )
            return
        if self._socket is not None:  # it has not been served yet
            self._socket.close()
            self._socket = None
        if self._serving is not None:
            self._serving.stop()
            await self._serving.closed  # only then its port is free
            self._serving = None

    def close(self) -> None:
        if self._serving is not None:
            self._serving.stop()


CHANGE_TIMEOUT_SECONDS = 30.0  # for the server to do what a test has asked for


class OutageEnforcer:
    """Does to sockets and connections what the outages under way say."""

    def __init__(
        self,
        world: World,
        schedule: OutageSchedule,
        hosts: Sequence[Listener],
        name_servers: Sequence[Listener],
        connections: Iterable[Connection],
    ) -> None:
        """Create an enforcer for these listeners of hosts and of name servers.

        `connections` are the open ones of the hosts; the caller keeps the set up to date.
        """
        self._world = world
        self._schedule = schedule
        self._hosts = hosts
        self._name_servers = name_servers
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open all listeners whose addresses no outage has closed.

        From now on outages take effect, and the times of planned ones count from here.
        """
        self._schedule.restart()
        self._schedule.on_change = self._on_change
        await self._apply()

    def stop(self) -> None:
        self._schedule.on_change = lambda: None
        if self._timer is not None:
            self._timer.cancel()
        for listener in (*self._hosts, *self._name_servers):
            listener.close()

    def _on_change(self) -> None:
        """Apply the changed schedule: soon, or before returning if another thread calls."""
        try:
            is_own_thread = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_own_thread = False
        if is_own_thread:
            self._apply_soon()
        else:
            asyncio.run_coroutine_threadsafe(self._apply(), self._loop).result(
                CHANGE_TIMEOUT_SECONDS
            )

    def _apply_soon(self) -> None:
        task = self._loop.create_task(self._apply())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _apply(self) -> None:
        """Set each listener to the state that the outages under way give it, and the next timer."""
        async with self._turn:
            # First, so that no change is missed that comes while listeners are set
            seconds = self._schedule.next_change()
            for listener in self._hosts:
                state, outage = self._schedule.of_address(
                    listener.address, partial(self._names, listener.address)
                )
                if state is not listener.state:
                    await listener.set_state(state)
                    self._apply_to_connections(listener.address, state, outage)
            for listener in self._name_servers:
                state = self._schedule.of_server(listener.address)
                if state is not listener.state:
                    await listener.set_state(state)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if isfinite(seconds):
                self._timer = self._loop.call_later(seconds, self._apply_soon)

    def _apply_to_connections(self, address: str, state: AddressState, outage: str) -> None:
        """Reset or silence the open connections to an address, as its new state demands."""
        # A copy: a connection that is reset leaves the set
        for connection in [*self._connections]:
            if connection.address != address:
                continue
            if state is AddressState.REFUSED:
                connection.reset(outage)
            elif state is AddressState.LOST:
                connection.lose(outage)

    def _names(self, address: str) -> Iterator[str]:
        """Return the names of the hosts at this address."""
        world = self._world
        end = world.hosts + len(world.extra_hosts)
        if name_server.IPV6 in world.mix:
            candidates = range(end)
        else:  # a world deals its addresses out in turn
            candidates = range(_address_number(address), end, world.addresses)
        return (world.name(host) for host in candidates if world.address(host) == address)


def _address_number(address: str) -> int:
    """Return the number of an address among those of a world: the inverse of `world.address`."""
    *_, high, low = map(int, address.split("."))
    return high * 250 + low - 1  # 250 in each /24
