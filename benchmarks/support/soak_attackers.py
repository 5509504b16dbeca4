"""Hosts that want the whole crawl for themselves: they drip, have no end of names or of links, or
redirect for ever.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.support.processes import beside
from webcrawl.lab.simweb import World, name_server, sockets
from webcrawl.lab.simweb.name_server import (
    A,
    DnsReply,
    NameServer,
    Question,
    ResourceRecord,
    Tcp,
    Udp,
)

ADDRESS, DNS_ADDRESS = "127.0.3.1", "127.0.3.2"
SEEDS = {"drip": 60, "flood": 5, "links": 4, "farm": 20}  # hosts to begin with, of each kind
NAMES_PER_PAGE, LINKS_PER_PAGE = 200, 5000
DRIP_SECONDS = 0.2  # seconds between two bytes


class Attackers:
    """All attackers: one server, and a name server that also knows the names of another web."""

    def __init__(self, others: Callable[[Question], DnsReply]) -> None:
        self._others, self._numbers = others, count()
        self._names = NameServer(self._reply)
        self.port = 0
        self.nameserver = ""

    async def listen(self) -> None:
        """Serve as long as the event loop runs."""
        loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._serve, ADDRESS, 0, backlog=2048)
        self.port = self._server.sockets[0].getsockname()[1]
        ((udp, tcp),) = sockets.listen_pairs([DNS_ADDRESS], 0)
        await loop.create_datagram_endpoint(lambda: Udp(self._names), sock=udp)
        await loop.create_server(lambda: Tcp(self._names), sock=tcp)
        self.nameserver = f"{DNS_ADDRESS}:{udp.getsockname()[1]}"

    def _url(self, name: str, path: str = "") -> str:
        return f"http://{name}.test:{self.port}/{path}"

    def _reply(self, question: Question) -> DnsReply:
        """Reply that every name below those of attackers has an address; others know the rest."""
        if not question.name.endswith((".drip.test", ".flood.test", ".links.test", ".farm.test")):
            return self._others(question)
        return DnsReply(
            records=(ResourceRecord(question.name, A, ADDRESS),) if question.type == A else ()
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            host = (
                next(line for line in lines if line.lower().startswith("host:"))[5:]
                .strip()
                .partition(":")[0]
            )
            await self._answer(host, lines[0].split()[1], writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a crawler that has enough leaves
        finally:
            writer.close()

    async def _answer(self, host: str, path: str, writer: asyncio.StreamWriter) -> None:
        """Answer as the kind of attacker does that the host's name says."""
        kind = "robots" if path == "/robots.txt" else host.split(".")[-2]
        match kind:
            case "robots":
                writer.write(_head("404 Not Found", "Content-Length: 0"))
            case "drip":
                links = "".join(f'<a href="/{number}">x</a>' for number in range(200))
                writer.write(
                    _head("200 OK", "Content-Length: 1000000") + f"{host}{path}{links}".encode()
                )
                while True:
                    await asyncio.sleep(DRIP_SECONDS)
                    writer.write(b"x")
                    await writer.drain()
            case "farm":
                target = self._url(f"h{next(self._numbers)}.farm", str(random.getrandbits(32)))
                links = "".join(
                    f'<a href="{self._url(f"h{next(self._numbers)}.farm")}">x</a>'
                    for _ in range(20)
                )
                body = links.encode()
                writer.write(
                    _head("302 Found", f"Location: {target}", f"Content-Length: {len(body)}") + body
                )
            case _:
                writer.write(self._page(host, path, flood=kind == "flood"))
        await writer.drain()

    def _page(self, host: str, path: str, *, flood: bool) -> bytes:
        """Return a page of links that were never seen before: to hosts, or to pages of this one."""
        urls = (
            [self._url(f"h{next(self._numbers)}.flood") for _ in range(NAMES_PER_PAGE)]
            if flood
            else [f"/{next(self._numbers)}" for _ in range(LINKS_PER_PAGE)]
        )
        body = f"<title>{host}{path}</title>{''.join(f'<a href={url!r}>x</a>' for url in urls)}".encode()
        return _head("200 OK", f"Content-Length: {len(body)}") + body


def _head(status: str, *lines: str) -> bytes:
    text = "\r\n".join(
        (f"HTTP/1.1 {status}", "Content-Type: text/html", "Connection: close", *lines)
    )
    return f"{text}\r\n\r\n".encode()


def _serve(ready: Connection, world: dict[str, Any]) -> None:
    attackers, loop = (
        Attackers(partial(name_server.reply, World(**world))),
        asyncio.new_event_loop(),
    )
    loop.run_until_complete(attackers.listen())
    ready.send(f"{attackers.nameserver} {attackers.port}")
    loop.run_until_complete(loop.run_in_executor(None, ready.recv))


@contextmanager
def attacking(**world: object) -> Iterator[tuple[str, list[str]]]:
    """Run attackers in a separate process; yield a name server and seeds.

    The name server also knows the names of this world.
    """
    with beside(_serve, world) as said:
        nameserver, port = said.split()
        yield (
            nameserver,
            [
                f"http://s{n}.{kind}.test:{port}/"
                for kind, host_count in SEEDS.items()
                for n in range(host_count)
            ],
        )
