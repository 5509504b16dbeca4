"""Opens HTTP connections: connect, then TLS."""

from __future__ import annotations

import asyncio
import ssl

from webcrawl.base.model import Timings
from webcrawl.net.connection import Connection
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import CertificateRefused, TlsFailed, TlsTimeout
from webcrawl.net.http_request import Target
from webcrawl.net.protocols import Access, Bind
from webcrawl.net.shortage import is_ours, until
from webcrawl.net.tls import certificate_flaws, fingerprint


class Opener:
    """Opens HTTP connections, with TLS for https."""

    def __init__(self, access: Access, tls: ssl.SSLContext) -> None:
        self._tls, self._timeout = tls, access.connect_timeout
        self._clock, self._now, self._shortage = access.clock, access.now, access.shortage
        self.reach: Reach[Connection] = Reach(
            access, lambda opened, lost: Connection(asyncio.get_running_loop(), access.clock, opened, lost), "http"
        )

    def __len__(self) -> int:
        """Open connections."""
        return len(self.reach)

    async def open(self, target: Target, timings: Timings, bind: Bind | None = None) -> Connection:
        """Connect to the first address that accepts; raises FetchError."""
        connection = await self.reach.open(target.host, target.port, timings, bind)
        if target.secure:
            await self.secure(connection, target, timings)
        return connection

    async def secure(self, connection: Connection, target: Target, timings: Timings) -> None:
        """Start TLS with the target, whoever the connection was made to; raises FetchError."""
        start = self._clock()
        try:
            await self._encrypt(connection, target.host)
        except BaseException:
            connection.abort()
            self.reach.lost(connection)  # asyncio does not report a connection dropped in its handshake
            raise
        timings.tls = self._clock() - start

    async def close(self) -> None:
        """Close all connections; return when their sockets are closed."""
        await self.reach.close()

    async def _encrypt(self, connection: Connection, host: str) -> None:
        try:
            async with until(asyncio.get_running_loop().time() + self._timeout):
                channel = await connection.encrypt(self._tls, _server_name(host))
        except TimeoutError as error:
            raise TlsTimeout(f"no handshake within {self._timeout} s") from error
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(error.verify_message) from error
        except OSError as error:
            if is_ours(error):
                raise self._shortage.begins(error) from error
            raise TlsFailed(str(error) or type(error).__name__) from error
        cipher = channel.cipher()
        connection.tls = f"{channel.version()} {cipher[0] if cipher else ''}"
        der = channel.getpeercert(binary_form=True)
        if der is not None:
            connection.certificate = fingerprint(der)
            if self._tls.verify_mode is ssl.CERT_NONE:
                connection.flaws = certificate_flaws(der, host, self._now())


def _server_name(host: str) -> str:
    name = host.rstrip(".")  # RFC 6066 3: without a trailing dot
    if not all(0 < len(label) < 64 for label in name.split(".")):
        raise TlsFailed(f"not a name that TLS can carry: {host[:100]!r}")
    return name
