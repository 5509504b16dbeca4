"""The limit: fetches pages, reads their links, makes them canonical and compresses the pages,
without a crawler.

It uses raw asyncio protocols on uvloop, httptools, lexbor, webcrawl's canonical form, and isal at
the archive's level. It knows all URLs in advance, requests the pages of each host one after the
other on one connection, and keeps nothing.

With --archive it also does what every webcrawl must do: the guard before lexbor, the digest that
identifies a body, and the archive's three records with their digests. What is missing then is the
crawler itself: which URL is next, whether it was seen, and whether its host may be asked.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from random import SystemRandom

import uvloop
from httptools import HttpResponseParser
from isal import isal_zlib
from selectolax.lexbor import LexborHTMLParser

from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.html.tree_guard import heavy
from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.random_content import path
from webcrawl.net.tls import tls_context
from webcrawl.record.warc.capture import CaptureMaker, RecentPayloads
from webcrawl.record.warc.warc_record import GZIP_WINDOW_BITS, LEVEL
from webcrawl.record.warc.warc_writer import identifiers
from webcrawl.urls.canonical import canonical_links
from webcrawl.urls.url_fingerprint import KEY_BYTES, ContentDigests

CONNECTIONS = 256
REQUEST = (
    "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: webcrawl/0.1\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
NO_LINKS: Counter[str] = Counter()  # what canonical_links rejects


Store = Callable[[str, bytes, bytes], None]  # of a page: URL, everything received, its body


def compress_only(_url: str, wire: bytes, _body: bytes) -> None:
    """Do with a page all that the limit does: compress what was received."""
    isal_zlib.compress(wire, LEVEL, GZIP_WINDOW_BITS)


def archiving_store() -> Store:
    """Return a function that does to a page all that happens before the archive has it."""
    digests = ContentDigests(bytes(KEY_BYTES))
    captures = CaptureMaker(RecentPayloads(), identifiers(SystemRandom()).__next__)
    html = [(b"Content-Type", b"text/html; charset=utf-8")]

    def store(url: str, wire: bytes, body: bytes) -> None:
        """Guard, identify and pack a page; what the archive would write is thrown away."""
        heavy(body)
        digests(body)
        head, request = wire[: -len(body)], REQUEST.format(url, url).encode()
        exchange = Exchange(
            url, request, 200, head, html, body, body, body, "127.0.0.1", 1.7e9, Timings()
        )
        link, title = Link(url, "L", url), {"title": url}
        captures.make(
            link, exchange, warcinfo="<urn:uuid:0>", duplicate=False, metadata=title
        ).pack()

    return store


class Host(asyncio.Protocol):
    """Fetches the pages of one host in turn, and counts pages and links.

    `done` is done when all pages are fetched.
    """

    def __init__(self, origin: str, targets: Iterator[str], store: Store) -> None:
        self._origin = origin
        self._authority = origin.partition("//")[2]
        self._targets = targets
        self._store = store
        self._parser = HttpResponseParser(self)
        self.pages = self.links = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._request_next()

    def _request_next(self) -> None:
        """Request the next page, or end the connection if there is none."""
        target = next(self._targets, None)
        if target is None:
            self._transport.abort()
            self.done.set_result(None)
            return
        self._url = self._origin + target
        self._wire: list[bytes] = []
        self._body: list[bytes] = []
        self._transport.write(REQUEST.format(target, self._authority).encode())

    def data_received(self, data: bytes) -> None:
        self._wire.append(data)
        self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        body = b"".join(self._body)
        page = LexborHTMLParser(body)
        links = [node.attributes["href"] for node in page.css("a[href]")]
        self.links += len(canonical_links(self._url, links, NO_LINKS))
        self._store(self._url, b"".join(self._wire), body)
        self.pages += 1
        self._request_next()

    def connection_lost(self, error: Exception | None) -> None:
        # Otherwise 190 KB of a TLS connection wait for Python's cycle collector
        del self._transport, self._parser
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed"))


async def fetch_all(world: World, tls: ssl.SSLContext | None, store: Store) -> tuple[int, int]:
    """Fetch the whole world, and return the numbers of its pages and links."""
    loop = asyncio.get_running_loop()
    hosts = iter(range(world.hosts))  # which all tasks share
    pages = links = 0

    async def fetch_hosts() -> None:
        """Fetch one host after the other, until none is left."""
        nonlocal pages, links
        for host in hosts:
            targets = map(path, range(world.pages_of(host)))
            name = world.name(host) if tls else None
            port = world.tls_port if tls else world.port
            _, protocol = await loop.create_connection(
                lambda host=host, targets=targets: Host(world.origin(host), targets, store),
                world.address(host),
                port,
                ssl=tls,
                server_hostname=name,
            )
            await protocol.done
            pages, links = pages + protocol.pages, links + protocol.links

    await asyncio.gather(*(fetch_hosts() for _ in range(CONNECTIONS)))
    return pages, links


def main() -> None:
    """Fetch the web that the command line describes, and print the number of pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bare", description=__doc__)
    for name in ("hosts", "pages", "port"):
        parser.add_argument(name, type=int)
    parser.add_argument("--tls", action="store_true", help="all hosts are https, on that port")
    parser.add_argument(
        "--archive", action="store_true", help="with the archive's records and digests"
    )
    args = parser.parse_args()
    mix = {"https": 1.0} if args.tls else {}
    world = World(args.hosts, args.pages, port=args.port, tls_port=args.port, mix=mix)
    pages, _ = uvloop.run(
        fetch_all(
            world,
            tls_context() if args.tls else None,
            archiving_store() if args.archive else compress_only,
        )
    )
    print(pages)


if __name__ == "__main__":
    main()
