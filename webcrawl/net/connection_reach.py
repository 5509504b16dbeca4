"""Opens connections: resolve, check, connect.

The only place that opens sockets to crawled servers.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar, cast

from webcrawl.base.model import Timings
from webcrawl.net.addresses import race
from webcrawl.net.dns_answers import known_without_asking
from webcrawl.net.errors import (
    AddressRefused,
    ConnectFailed,
    ConnectTimeout,
    NoFamily,
    NoSocket,
    PortRefused,
    Sign,
)
from webcrawl.net.protocols import Access, Bind
from webcrawl.net.shortage import is_ours, lacks_route, port_lacks, until


class Reachable(Protocol):
    """A connection; also an asyncio Protocol."""

    ip: str  # of the server

    def abort(self) -> None: ...


C = TypeVar("C", bound=Reachable)
Heard = Callable[[C], None]


class Reach(Generic[C]):
    """Opens connections of one scheme, to exactly the address that the guard has checked.

    `make` gets two functions that the connection must call once each: when it is open and when it
    is lost.
    """

    def __init__(
        self,
        access: Access,
        make: Callable[[Heard[C], Heard[C]], C],
        scheme: str,
    ) -> None:
        """`make` makes a connection's protocol of what to call when it begins and ends."""
        self._access = access
        self._clock = access.clock
        self._make = make
        self._scheme = scheme
        self._ports = access.ports
        self._connections: set[C] = set()
        self._none = asyncio.Event()  # set while no connection is open
        self._none.set()

    def __len__(self) -> int:
        return len(self._connections)

    async def open(self, host: str, port: int, timings: Timings, bind: Bind | None = None) -> C:
        """Connect to the first address that accepts; raises FetchError."""
        # Before the name is looked up: no address can change this
        if not self._ports.allow(self._scheme, port):
            raise PortRefused(f"port {port} is not allowed for {self._scheme}")
        start = self._clock()
        try:
            # IPv4 alone at first: nearly all hosts have such an address, and asking for both
            # doubles the load on name servers
            addresses = await self._access.resolver.resolve(host)
        except NoSocket as error:
            raise self._access.shortage.begins(error) from error
        timings.dns = self._clock() - start
        start = self._clock()
        try:
            connection = await self._first(host, addresses, port, bind)
        except AddressRefused as error:
            if known_without_asking(host) is None:  # else the URL itself names the address
                error.sign = Sign.NO_NAME
            raise
        timings.connect = self._clock() - start
        return connection

    async def open_trusted(self, addresses: list[str], port: int, bind: Bind | None = None) -> C:
        """Connect to a server that the operator has named, whatever guard and ports say of it.

        Raise FetchError.
        """
        # The proxy's address says nothing of families
        return await race(addresses, partial(self._connect, port=port, bind=bind), lambda _: None)

    async def take_over(self, channel: socket.socket) -> C:
        """Return a connection on a socket that a proxy has connected, and that is ours from now on.

        Raise OSError.
        """
        connection = self._make(self._opened, self.lost)
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: cast("asyncio.Protocol", connection), sock=channel
            )
        except BaseException:
            channel.close()
            connection.abort()
            self.lost(connection)
            raise
        return connection

    async def open_data(self, address: str, port: int) -> C:
        """Connect to a port that an FTP server has named for a transfer; raises FetchError."""
        if not self._ports.allow_data(port):
            raise PortRefused(f"port {port} is not allowed for an FTP transfer")
        self._access.guard.check(address, port)
        return await self._connect(address, port, None)

    async def close(self) -> None:
        """Close all connections; return when their sockets are closed."""
        for connection in list(self._connections):
            connection.abort()
        await self._none.wait()

    def lost(self, connection: C) -> None:
        """Forget a connection that has ended."""
        self._connections.discard(connection)
        if not self._connections:
            self._none.set()

    async def _first(self, host: str, addresses: list[str], port: int, bind: Bind | None) -> C:
        """Return a connection to the first address of the host that accepts one."""
        families = self._access.families
        resolver = self._access.resolver
        ordered: list[str] = []

        async def more() -> list[str]:
            """Return addresses of the family that was not asked for, where that family works."""
            nonlocal addresses
            if not families.is_worth_asking(6):
                return ordered
            others = await resolver.others(host)
            if not others:
                return ordered
            addresses = others
            return families.order(others, host)

        if not addresses:
            raise ConnectFailed("the name has no address")
        try:
            ordered = families.order(addresses, host)
        except NoFamily:
            ordered = await more()
            if not ordered:
                raise
        try:
            connection = await race(
                ordered, partial(self._checked, port=port, bind=bind), families.silent, more
            )
        except (AddressRefused, ConnectFailed) as error:
            # A host that is away is charged with what its first address said
            blamed = families.blame(addresses, error)
            if blamed is error:
                raise
            raise blamed from error
        # A host whose first address is dead is found out once: this one goes first from now on
        if connection.ip != ordered[0]:
            families.prefer(host, connection.ip)
        return connection

    async def _checked(self, address: str, port: int, bind: Bind | None) -> C:
        # The very address that is connected to: no name, redirect or second answer leads inside
        self._access.guard.check(address, port)
        return await self._connect(address, port, bind)

    async def _connect(self, address: str, port: int, bind: Bind | None) -> C:
        """Connect to an address that was checked."""
        _check_literal(address)
        bind = bind or self._access.bind
        if bind is not None and (":" in bind[0]) != (":" in address):
            raise ConnectFailed(
                f"{address} cannot be reached from the local address {bind[0]}: "
                "one is IPv4, the other IPv6"
            )
        loop = asyncio.get_running_loop()
        connection = self._make(self._opened, self.lost)
        try:
            try:
                async with until(loop.time() + self._access.connect_timeout):
                    await loop.create_connection(
                        lambda: cast("asyncio.Protocol", connection), address, port, local_addr=bind
                    )
            except BaseException:
                connection.abort()
                # uvloop does not report a connection whose opener was just cancelled
                self.lost(connection)
                raise
        except TimeoutError as error:
            self._access.families.failed(address, no_route=False)
            raise _at(address, ConnectTimeout(f"{address} port {port}")) from error
        except OSError as error:
            # A lack of descriptors or ports says nothing of the host
            if is_ours(error) or port_lacks(error, address, port):
                raise self._access.shortage.begins(error) from error
            failed = _at(address, ConnectFailed(f"{address} port {port}: {error}"))
            no_route = lacks_route(error, address, port)
            self._access.families.failed(address, no_route=no_route)
            # A missing route over IPv6 says nothing: many machines have no IPv6.
            is_ipv6 = ":" in address
            if no_route:
                failed.sign = Sign.NOTHING if is_ipv6 else Sign.NO_ROUTE
            raise failed from error
        connection.ip = address
        self._access.shortage.opened = True
        self._access.families.connected(address)
        return connection

    def _opened(self, connection: C) -> None:
        self._connections.add(connection)
        self._none.clear()


def _at(address: str, error: ConnectFailed) -> ConnectFailed:
    error.address = address
    return error


def _check_literal(address: str) -> None:
    """Reject a name: it would be resolved again, bypassing the guard."""
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except OSError as error:
        raise ConnectFailed(f"not an IP address: {address[:100]!r}") from error
