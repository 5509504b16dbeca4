"""A small SOCKS5 proxy on loopback (RFC 1928, RFC 1929): CONNECT, with or without credentials."""

import struct
from contextlib import contextmanager

from tests.support.net_http import in_thread, serving, tunnel

IPV4, NAME, IPV6 = 1, 3, 4


class Socks:
    """A SOCKS proxy to which every name is 127.0.0.1.

    `user` has the name and password that it wants. `replies` has codes that it answers in place of
    connecting, by host.
    """

    def __init__(self, *, user=None, replies=None):
        self.user, self.replies = user, replies or {}
        self.requested = []  # the kind of address, the address and the port of each request

    async def __call__(self, reader, writer):
        """Negotiate with a client, and carry its connection to the target."""
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self.user else 0
        if wanted not in methods:
            writer.write(b"\x05\xff")
            return
        writer.write(bytes((5, wanted)))
        if self.user and not await self._knows(reader, writer):
            return
        _, _, _, kind = await reader.readexactly(4)
        host = await self._host(reader, kind)
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        self.requested.append((kind, host, port))
        code = self.replies.get(host, 0)
        reply = bytes((5, code, 0, IPV4)) + bytes(6)
        if code:
            writer.write(reply)
            await writer.drain()
            return
        writer.write(reply)
        await tunnel(reader, writer, port)

    async def _knows(self, reader, writer):
        _, count = await reader.readexactly(2)
        name = await reader.readexactly(count)
        (count,) = await reader.readexactly(1)
        is_known = (name.decode(), (await reader.readexactly(count)).decode()) == self.user
        writer.write(bytes((1, 0 if is_known else 1)))
        await writer.drain()
        return is_known

    async def _host(self, reader, kind):
        if kind == NAME:
            (count,) = await reader.readexactly(1)
            return (await reader.readexactly(count)).decode()
        if kind == IPV4:
            return ".".join(map(str, await reader.readexactly(4)))
        return (await reader.readexactly(16)).hex()


@contextmanager
def socks_proxy(proxy):
    """Run the proxy in a thread of its own; yield its address."""
    with in_thread(serving(proxy)) as port:
        yield f"127.0.0.1:{port}"
