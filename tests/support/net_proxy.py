"""A small HTTP proxy on loopback: CONNECT and absolute form, with or without credentials."""

import asyncio
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.support.net_http import in_thread, serving, tunnel

DENIED = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
OPEN = b"HTTP/1.0 200 Connection established\r\n\r\n"  # as many proxies say it: 1.0, and no length


def status(number):
    """Return a proxy's own answer with this status."""
    return b"HTTP/1.1 %d Its own\r\nContent-Length: 4\r\n\r\nself" % number


class Proxy:
    """An HTTP proxy to which every name is 127.0.0.1.

    `own` has its own answers, by host; `auth` the credentials that it wants.
    """

    def __init__(self, *, auth=b"", own=None):
        self.auth, self.own = auth, own or {}
        self.connections, self.heads = 0, []

    @property
    def lines(self):
        """Return the request lines so far."""
        return [head.partition(b"\r\n")[0] for head in self.heads]

    async def __call__(self, reader, writer):
        """Answer the requests of a connection, or carry it to its target."""
        self.connections += 1
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            method, target, _ = head.partition(b"\r\n")[0].decode().split(" ")
            parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
            if self.auth and b"\r\nProxy-Authorization: " + self.auth + b"\r\n" not in head:
                writer.write(DENIED)
            elif parts.hostname in self.own:
                writer.write(self.own[parts.hostname])
            elif method == "CONNECT":
                writer.write(OPEN)
                await tunnel(reader, writer, parts.port)
                return
            else:
                writer.write(await self._ask(method, parts))
            await writer.drain()

    async def _ask(self, method, parts):
        """Return the answer of the target."""
        reader, writer = await asyncio.open_connection("127.0.0.1", parts.port)
        writer.write(
            f"{method} {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        )
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            return head + await reader.readexactly(
                int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            )
        finally:
            writer.close()


@contextmanager
def proxying(proxy, port=0):
    """Run the proxy in a thread of its own; yield its address."""
    with in_thread(serving(proxy, port=port)) as found:
        yield f"127.0.0.1:{found}"
