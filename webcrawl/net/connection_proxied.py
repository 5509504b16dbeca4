"""Opens HTTP connections through a proxy: reach the proxy, ask it for a tunnel, then TLS with the server."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

from webcrawl.model import Timings
from webcrawl.net.connection import Connection
from webcrawl.net.connection_open import Opener
from webcrawl.net.dns_literal import known_without_asking
from webcrawl.net.errors import (
    ConnectFailed,
    ConnectTimeout,
    DnsFailed,
    FetchError,
    PortRefused,
    TlsTimeout,
    TunnelRefused,
)
from webcrawl.net.http_target import Target
from webcrawl.net.protocols import Access, Options
from webcrawl.net.proxies import Proxies
from webcrawl.net.proxy import Proxy, TunnelAnswer, connect_head

_LATER = frozenset((408, 429))  # of a proxy: also later, as all 5xx
_GATEWAY = frozenset((502, 503, 504))  # of a proxy or of the server behind it: nobody can tell
LOOPBACK = "127.0.0.1"


class ProxiedOpener:
    """Opens connections to servers that only the proxy sees: it resolves their names (docs/scrapy.md)."""

    def __init__(self, access: Access, opener: Opener, user_agent: str) -> None:
        self._access, self._opener, self._user_agent = access, opener, user_agent
        self._proxies = Proxies(access.clock)

    async def open(
        self, proxy: Proxy, target: Target, options: Options, timings: Timings, deadline: float
    ) -> Connection:
        """Connect through the proxy; raises FetchError, of which ProxyFailed charges nobody."""
        self._check(target)
        self._proxies.check(proxy)
        begun = self._access.clock()
        connection = await self._dial(proxy, options, deadline)
        if target.secure:
            await self._tunnel(connection, proxy, target, deadline)
        timings.connect = self._access.clock() - begun
        if target.secure:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._opener.secure(connection, target, timings)
            except TimeoutError as error:
                raise TlsTimeout("no handshake within the deadline") from error
        connection.ip = ""  # the proxy's is not the server's
        return connection

    def answered(self, proxy: Proxy, target: Target, status: int) -> None:
        """An answer has come; raises ProxyFailed if it is the proxy's own demand for other credentials."""
        if status == 407 and not target.secure:
            raise self._proxies.failed(proxy, "407 to a request")
        if target.secure or status not in _GATEWAY:
            self._proxies.worked(proxy, target.host)

    def unanswered(self, proxy: Proxy, target: Target, error: FetchError) -> FetchError:
        """No answer has come: the error to raise. Within a tunnel it is the server's."""
        return error if target.secure else self._proxies.doubtful(proxy, target.host, error)

    def _check(self, target: Target) -> None:
        """Refuse what can be seen to lead inside: ports of other services, addresses, this machine's own name."""
        if not self._access.ports.allow("https" if target.secure else "http", target.port):
            raise PortRefused(f"port {target.port} is not for a web server")
        name = target.host.rstrip(".")
        known = known_without_asking(name)
        if known is not None and known.failure is not None:
            raise DnsFailed(f"{target.host}: {known.failure.words}", permanent=True)
        inside = name == "localhost" or name.endswith(".localhost")  # RFC 6761 6.3
        for address in known.addresses if known is not None else (LOOPBACK,) * inside:
            self._access.guard.check(address, target.port)

    async def _dial(self, proxy: Proxy, options: Options, deadline: float) -> Connection:
        try:
            async with asyncio.timeout_at(deadline):
                addresses = await _addresses(proxy)
                return await self._opener.reach.open_trusted(addresses, proxy.port, options.bind)
        except TimeoutError as error:
            raise self._proxies.failed(proxy, "no connection within the deadline") from error
        except (OSError, UnicodeError, ConnectFailed) as error:
            raise self._proxies.failed(proxy, error) from error

    async def _tunnel(self, connection: Connection, proxy: Proxy, target: Target, deadline: float) -> None:
        head, why = connect_head(target, proxy, self._user_agent), f"CONNECT {target.host}:{target.port}"
        error: FetchError
        try:
            async with asyncio.timeout_at(deadline):
                message = await connection.ask(head, TunnelAnswer())
        except TimeoutError:
            error = ConnectTimeout(f"no answer to {why} within the deadline")
        except FetchError as failed:
            error = ConnectFailed(f"{failed} to {why}")
        else:
            status = message.head.status
            if message.reusable:
                self._proxies.worked(proxy, target.host)
                return
            connection.abort()
            if status == 407:
                raise self._proxies.failed(proxy, f"407 to {why}")
            if 300 <= status < 500 and status not in _LATER:
                raise TunnelRefused(f"proxy {proxy}: {status} to {why}")
            error = ConnectFailed(f"{status} to {why}")
        raise self._proxies.doubtful(proxy, target.host, error)


async def _addresses(proxy: Proxy) -> list[str]:
    """By the system's resolver, as for any other program: the proxy is the operator's, not the web's."""
    try:
        return [str(ip_address(proxy.host))]
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in found))
