"""The server of the synthetic web: sockets, connections, name server and log."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from email.utils import formatdate
from functools import partial
from typing import Protocol

from webcrawl.simweb import names, sockets, tls
from webcrawl.simweb.answers import Answer, Ask
from webcrawl.simweb.dns import NameServer, Tcp, Udp
from webcrawl.simweb.http import Connection, Desk, Request
from webcrawl.simweb.kinds import KINDS
from webcrawl.simweb.log import Log
from webcrawl.simweb.world import World, address

COUNTED = ("/robots.txt", *(f"/x/{name}/" for name, kind in KINDS.items() if kind.counted))
DNS_ADDRESS = "127.0.0.1"


class _Closing(Protocol):
    """Can be ended with `stop`; `closed` is done when it has ended."""

    closed: asyncio.Future[None]

    def stop(self) -> None: ...


class Server:
    """Serves a world. Connections are accepted from the constructor on and answered after `await start()`.

    A port of 0 is any free one; the world gets the real one. There is an https server if the mix has https hosts.
    """

    def __init__(self, world: World, *, dns_port: int = 0, latency: float = 0.0, log: Log | None = None) -> None:
        self.world, self.log = world, log or Log()
        self._sockets: list[socket.socket] = []
        served = [address(index) for index in range(world.addresses)]
        try:
            self._http = self._keep(sockets.listen([*served, names.OUTSIDE], world.port))
            self._https = self._keep(
                sockets.listen([*served, names.OUTSIDE], world.tls_port) if "https" in world.mix else []
            )
            self._udp, self._tcp = self._keep([*sockets.listen_both(DNS_ADDRESS, dns_port)])
        except OSError:
            sockets.close(self._sockets)
            raise
        world.settle(*(kept[0].getsockname()[1] if kept else 443 for kept in (self._http, self._https)))
        self.names = NameServer(partial(names.reply, world))
        self._desk = Desk(self._answer, self.log.add, latency)
        self._attempts: Counter[str] = Counter()
        self._servers: list[asyncio.Server] = []
        self._clockwork: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Server {self.world!r} port={self.world.port} connections={len(self._desk.connections)}>"

    @property
    def nameserver(self) -> str:
        """The name server's address, in the form of DNS_NAMESERVERS."""
        return f"{DNS_ADDRESS}:{self._udp.getsockname()[1]}"

    @property
    def busy(self) -> int:
        """Requests that have arrived and are not in the log yet."""
        return self._desk.begun - self.log.count

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._desk.date = formatdate(usegmt=True)
        self._clockwork = loop.create_task(self._every_second())
        for kept in self._http:
            self._servers.append(await loop.create_server(lambda: Connection(self._desk, "http"), sock=kept))
        context = tls.server_context() if self._https else None
        for kept in self._https:
            self._servers.append(
                await loop.create_server(lambda: Connection(self._desk, "https"), sock=kept, ssl=context)
            )
        self._servers.append(await loop.create_server(lambda: Tcp(self.names), sock=self._tcp))
        await loop.create_datagram_endpoint(lambda: Udp(self.names), sock=self._udp)

    async def close(self) -> None:
        """Stops at once. Requests in progress are logged as stopped."""
        for server in self._servers:
            server.close()
        connections: list[_Closing] = [*self._desk.connections, *self.names.connections]
        for connection in connections:
            connection.stop()
        await asyncio.gather(*(connection.closed for connection in connections))
        if self._clockwork is not None:
            self._clockwork.cancel()
        self.log.close()

    def _keep(self, opened: list[socket.socket]) -> list[socket.socket]:
        self._sockets += opened
        return opened

    async def _every_second(self) -> None:
        while True:
            await asyncio.sleep(1)
            self._desk.date = formatdate(usegmt=True)
            self.log.flush()

    def _answer(self, request: Request) -> tuple[Answer, int]:
        attempt = 1
        if request.target.startswith(COUNTED):
            self._attempts[request.url] += 1
            attempt = self._attempts[request.url]
        host = self.world.number(request.notes.get("host", "").partition(":")[0].lower())
        if host is None:
            return Answer(421, b"<title>No such host</title>"), attempt
        if request.method not in ("GET", "HEAD"):
            return Answer(405, headers=("Allow: GET, HEAD",)), attempt
        notes = request.notes
        ask = Ask(host, request.target, notes.get("accept", ""), notes.get("etag", ""), notes.get("since", ""), attempt)
        return self.world.answer(ask), attempt
