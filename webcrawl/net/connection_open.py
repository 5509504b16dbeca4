"""From a name to an open connection: resolve, check, connect, encrypt."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl

from webcrawl.model import Timings
from webcrawl.net.certificate import certificate_flaws
from webcrawl.net.connection import Connection
from webcrawl.net.errors import (
    AddressRefused,
    CertificateRefused,
    ConnectFailed,
    ConnectTimeout,
    FetchError,
    NoSocket,
    TlsFailed,
    TlsTimeout,
)
from webcrawl.net.http_target import Target
from webcrawl.net.protocols import Clock, Guard, Resolver

_MAX_ADDRESSES = 4  # tried one after the other; a name with a hundred dead addresses must not cost a hundred time-outs
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))


class Opener:
    """Opens connections; the address that the guard has let through is the one that is connected to."""

    def __init__(
        self, resolver: Resolver, guard: Guard, *, tls: ssl.SSLContext, timeout: float, clock: Clock, now: Clock
    ) -> None:
        self._resolver, self._guard = resolver, guard
        self._tls, self._timeout, self._clock, self._now = tls, timeout, clock, now
        self._connections: set[Connection] = set()
        self._none = asyncio.Event()  # no connection is open
        self._none.set()

    async def open(self, target: Target, timings: Timings) -> Connection:
        """Connect to the first address that lets us; raises FetchError."""
        start = self._clock()
        addresses = await self._resolver.resolve(target.host)
        timings.dns = self._clock() - start
        start = self._clock()
        connection = await self._reach(addresses[:_MAX_ADDRESSES], target.port)
        timings.connect = self._clock() - start
        if target.secure:
            start = self._clock()
            try:
                await self._encrypt(connection, target.host)
            except BaseException:
                connection.abort()
                self._lost(connection)  # asyncio tells nobody when it drops a connection in its handshake
                raise
            timings.tls = self._clock() - start
        return connection

    async def close(self) -> None:
        """End all connections; return when their sockets are closed."""
        for connection in list(self._connections):
            connection.abort()
        await self._none.wait()

    def _opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._none.clear()

    def _lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._none.set()

    async def _reach(self, addresses: list[str], port: int) -> Connection:
        error: FetchError = ConnectFailed("no address")
        for address in addresses:
            try:
                self._guard.check(address, port)
                return await self._connect(address, port)
            except (AddressRefused, ConnectFailed) as failed:
                error = failed
        raise error

    async def _connect(self, address: str, port: int) -> Connection:
        _check_literal(address)
        loop = asyncio.get_running_loop()
        connection = Connection(loop, self._clock, self._opened, self._lost)
        try:
            async with asyncio.timeout(self._timeout):
                await loop.create_connection(lambda: connection, address, port)
        except TimeoutError as error:
            raise ConnectTimeout(f"{address} port {port}") from error
        except OSError as error:
            if error.errno in _OURS:
                raise NoSocket(str(error)) from error
            raise ConnectFailed(f"{address} port {port}: {error}") from error
        connection.ip = address
        return connection

    async def _encrypt(self, connection: Connection, host: str) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                channel = await connection.encrypt(self._tls, _server_name(host))
        except TimeoutError as error:
            raise TlsTimeout(f"no handshake within {self._timeout} s") from error
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(error.verify_message) from error
        except OSError as error:
            raise TlsFailed(str(error) or type(error).__name__) from error
        cipher = channel.cipher()
        connection.tls = f"{channel.version()} {cipher[0] if cipher else ''}"
        der = channel.getpeercert(binary_form=True)
        if der is not None and self._tls.verify_mode is ssl.CERT_NONE:
            connection.flaws = certificate_flaws(der, host, self._now())


def _check_literal(address: str) -> None:
    """A name here would be resolved again, behind the guard's back."""
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except OSError as error:
        raise ConnectFailed(f"not an address: {address[:100]!r}") from error


def _server_name(host: str) -> str:
    name = host.rstrip(".")  # RFC 6066 3: without a trailing dot
    if not all(0 < len(label) < 64 for label in name.split(".")):
        raise TlsFailed(f"no name that TLS can carry: {host[:100]!r}")
    return name
