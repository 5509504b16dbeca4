"""The limit: pages fetched, links read and brought into canonical form, all compressed, with no crawler around it.

Raw asyncio protocols on uvloop, httptools, lexbor, webcrawl's canonical form, isal at the archive's level. It knows all
URLs beforehand, asks each host for its pages one after the other on one connection, and keeps nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
from collections import Counter
from collections.abc import Iterator

import uvloop
from httptools import HttpResponseParser
from isal import isal_zlib
from selectolax.lexbor import LexborHTMLParser

from webcrawl.net.tls import tls_context
from webcrawl.simweb import World
from webcrawl.simweb.paths import path
from webcrawl.urls.canonical import canonical_links
from webcrawl.warc.record import GZIP, LEVEL

AT_ONCE = 256
REQUEST = (
    "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: webcrawl/0.1\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
NO_LINKS: Counter[str] = Counter()  # what canonical_links refuses


class Host(asyncio.Protocol):
    """A host's pages, one after the other; `done` when there are no more, with their number and links."""

    def __init__(self, origin: str, targets: Iterator[str]) -> None:
        self._origin, self._authority, self._targets = origin, origin.partition("//")[2], targets
        self._parser = HttpResponseParser(self)
        self.pages = self.links = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._ask()

    def _ask(self) -> None:
        target = next(self._targets, None)
        if target is None:
            self._transport.close()
            self.done.set_result(None)
            return
        self._url, self._wire, self._body = self._origin + target, [], []
        self._transport.write(REQUEST.format(target, self._authority).encode())

    def data_received(self, data: bytes) -> None:
        self._wire.append(data)
        self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        page = LexborHTMLParser(b"".join(self._body))
        links = [node.attributes["href"] for node in page.css("a[href]")]
        self.links += len(canonical_links(self._url, links, NO_LINKS))
        isal_zlib.compress(b"".join(self._wire), LEVEL, GZIP)
        self.pages += 1
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed"))


async def work(world: World, tls: ssl.SSLContext | None) -> tuple[int, int]:
    """Pages and links of the whole world."""
    loop, hosts, pages, links = asyncio.get_running_loop(), iter(range(world.hosts)), 0, 0

    async def worker() -> None:
        nonlocal pages, links
        for host in hosts:
            targets = map(path, range(world.pages_of(host)))
            name = world.name(host) if tls else None
            port = world.tls_port if tls else world.port
            _, protocol = await loop.create_connection(
                lambda host=host, targets=targets: Host(world.origin(host), targets),
                world.address(host),
                port,
                ssl=tls,
                server_hostname=name,
            )
            await protocol.done
            pages, links = pages + protocol.pages, links + protocol.links

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return pages, links


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bare", description=__doc__)
    for name in ("hosts", "pages", "port"):
        parser.add_argument(name, type=int)
    parser.add_argument("--tls", action="store_true", help="all hosts are https, on that port")
    args = parser.parse_args()
    mix = {"https": 1.0} if args.tls else {}
    world = World(args.hosts, args.pages, port=args.port, tls_port=args.port, mix=mix)
    pages, _ = uvloop.run(work(world, tls_context() if args.tls else None))
    print(pages)


if __name__ == "__main__":
    main()
