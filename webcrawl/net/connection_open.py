"""Opens HTTP connections: connect, then TLS."""

from __future__ import annotations

import asyncio
import ssl

from webcrawl.base.errors import words_of
from webcrawl.base.model import Timings
from webcrawl.net.certificates import certificate_flaws, fingerprint
from webcrawl.net.connection import Connection
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import CertificateRefused, Http2Only, TlsFailed, TlsTimeout
from webcrawl.net.http2_offers import H2, Http2Offers, session_of, without_library
from webcrawl.net.http_request import Target
from webcrawl.net.protocols import Access, Bind
from webcrawl.net.shortage import is_ours, until

NO_PROTOCOL = "no application protocol"  # OpenSSL's words for the alert (RFC 7301 3.2): Python 3.11 has no name of it


class Opener:
    """Opens HTTP connections, with TLS for https."""

    def __init__(self, access: Access, tls: ssl.SSLContext, http2: Http2Offers) -> None:
        self._tls, self._http2, self._timeout = tls, http2, access.connect_timeout
        self._clock, self._now, self._shortage = access.clock, access.now, access.shortage
        self.reach: Reach[Connection] = Reach(
            access, lambda opened, lost: Connection(asyncio.get_running_loop(), access.clock, opened, lost), "http"
        )

    def __len__(self) -> int:
        """Open connections."""
        return len(self.reach)

    async def open(
        self, target: Target, timings: Timings, bind: Bind | None = None, *, http2: bool = False
    ) -> Connection:
        """Connect to the first address that accepts; raises FetchError. `http2` offers it beside HTTP/1.1."""
        connection = await self.reach.open(target.host, target.port, timings, bind)
        if target.secure:
            try:
                await self.secure(connection, target, timings, http2=http2)
            except TlsFailed as error:
                error.address = connection.ip
                raise
        return connection

    async def secure(self, connection: Connection, target: Target, timings: Timings, *, http2: bool = False) -> None:
        """Start TLS with the target, whoever the connection was made to; raises FetchError."""
        start = self._clock()
        try:
            if http2:  # the server may send its first frame before we know of the handshake's end
                connection.http2 = session_of(connection)
            await self._encrypt(connection, target.host, self._http2.context if http2 else self._tls)
        except BaseException:
            connection.abort()
            self.reach.lost(connection)  # asyncio does not report a connection dropped in its handshake
            raise
        timings.tls = self._clock() - start

    async def close(self) -> None:
        """Close all connections; return when their sockets are closed."""
        await self.reach.close()

    async def _encrypt(self, connection: Connection, host: str, context: ssl.SSLContext) -> None:
        try:
            async with until(asyncio.get_running_loop().time() + self._timeout):
                channel = await connection.encrypt(context, _server_name(host))
        except TimeoutError as error:
            raise TlsTimeout(f"no handshake within {self._timeout} s") from error
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(error.verify_message) from error
        except OSError as error:
            if is_ours(error):
                raise self._shortage.begins(error) from error
            if NO_PROTOCOL in str(error):
                raise Http2Only("it takes no offer of HTTP/1.1") from error
            raise TlsFailed(words_of(error)) from error
        connection.spoken = channel.selected_alpn_protocol() or ""
        if connection.spoken != H2:
            connection.http2 = None
        elif connection.http2 is None:
            raise Http2Only(f"it chooses HTTP/2: {without_library()}")
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
