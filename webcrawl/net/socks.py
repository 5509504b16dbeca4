"""SOCKS5 proxies (RFC 1928 and 1929), by python-socks: an extra, loaded when one is used.

`socks5://` gets an address that was looked up and checked here; `socks5h://` gets the name, and
looks it up itself.
"""

from __future__ import annotations

import socket
from base64 import b64decode
from collections.abc import Sequence

from webcrawl.base.loading import missing
from webcrawl.net.errors import BadOption
from webcrawl.net.protocols import Bind, Proxy
from webcrawl.net.shortage import is_ours

LIBRARY = "python_socks"
SOCKS_PORT = 1080
RESOLVED_HERE = "socks5"
FORBIDDEN, CONNECTION_REFUSED = 2, 5  # RFC 1928 6: replies of a proxy
LONGEST_CREDENTIAL = 255  # bytes of a user name and of a password, RFC 1929 2


class ProxyUnusable(Exception):  # noqa: N818 - reads as what it is
    """The proxy cannot be reached, does not speak SOCKS5, or wants other credentials."""


class Refused(Exception):  # noqa: N818 - reads as what it is
    """The proxy has not connected to the server, and has said why by a code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


def credentials_of(proxy: Proxy) -> tuple[str, str]:
    """Return user name and password, both empty if there are none. Raise BadOption."""
    if not proxy.auth:
        return "", ""
    try:
        user, _, password = b64decode(proxy.auth.removeprefix(b"Basic ")).decode().partition(":")
    except ValueError:
        user = password = ""
    # RFC 1929 gives each one byte for its length, and names no encoding.
    can_be_sent = all(
        one.isascii() and 0 < len(one) <= LONGEST_CREDENTIAL for one in (user, password)
    )
    if not can_be_sent:
        raise BadOption(f"proxy {proxy}: its user name or password cannot be sent by SOCKS5")
    return user, password


async def connect(
    proxy: Proxy, addresses: Sequence[str], hosts: Sequence[str], port: int, bind: Bind | None
) -> tuple[socket.socket, str]:
    """Return a socket that the proxy has connected to the first of these hosts that it reaches.

    `addresses` are the proxy's own. Return that host too. Raise ProxyUnusable, Refused, or OSError
    for what this machine lacks; BadOption without the library.
    """
    refused = Refused("no host to connect to", 0)
    for host in hosts:
        try:
            return await _connect_to(proxy, addresses, host, port, bind), host
        except Refused as error:
            refused = error
    raise refused


async def _connect_to(
    proxy: Proxy, addresses: Sequence[str], host: str, port: int, bind: Bind | None
) -> socket.socket:
    """Return a socket that reaches the host through one of the proxy's addresses.

    Raise ProxyUnusable if none can be reached, and Refused if the proxy or the host refuses.
    """
    try:
        from python_socks import ProxyConnectionError, ProxyError, ProxyType  # noqa: PLC0415 - an extra
        from python_socks.async_.asyncio import Proxy as Client  # noqa: PLC0415
    except ImportError as error:
        raise BadOption(f"proxy {proxy}: {missing(LIBRARY)}") from error
    user, password = credentials_of(proxy)
    unusable = ProxyUnusable("its name has no address")
    for address in addresses:
        is_named = proxy.scheme != RESOLVED_HERE
        client = Client(
            ProxyType.SOCKS5, address, proxy.port, user or None, password or None, rdns=is_named
        )
        try:
            connected: socket.socket = await client.connect(host, port, local_addr=bind)
        except ProxyConnectionError as error:
            # A lack of this machine says nothing of the proxy.
            if is_ours(error):
                raise
            unusable = ProxyUnusable(str(error.__cause__ or error))
        except ProxyError as error:
            # The proxy closed the connection. `ssh -D` refuses a server in this way.
            if error.__context__ is None:
                raise Refused(f"{error} for {host}:{port}", 0) from error
            if error.error_code is None:
                raise ProxyUnusable(str(error)) from error
            raise Refused(f"{error} to {host}:{port}", error.error_code) from error
        except OSError as error:
            raise Refused(f"{error} for {host}:{port}", 0) from error
        else:
            return connected
    raise unusable
