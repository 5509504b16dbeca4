"""Any number of hosts in a thread, behind one port and one name server: every name leads there."""

import asyncio
import socket
import struct
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import uvloop

from tests.support.crawling import Crawl, wait_until

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"


class Crowd:
    """Many hosts on one port, without robots.txt. `requested` counts each host's pages.

    `page(host, path)` returns the HTML of a page. `drips(host, path)` returns the number of bytes
    that come at once, where the others come one per second, or None.
    """

    def __init__(self, page, drips=lambda _host, _path: None):
        self.page, self.drips, self.requested = page, drips, Counter()
        self.visitors = set()
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.datagrams.bind(("127.0.0.1", 0))

    @property
    def port(self):
        return self.listening.getsockname()[1]

    @property
    def nameserver(self):
        return f"127.0.0.1:{self.datagrams.getsockname()[1]}"

    async def serve(self, stop):
        """Serve until `stop` is set."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Visitor(self), sock=self.listening)
        names, _ = await loop.create_datagram_endpoint(_Names, sock=self.datagrams)
        await stop.wait()
        names.close()
        server.close()
        for visitor in self.visitors:
            visitor.transport.abort()
        await asyncio.gather(*(visitor.left for visitor in self.visitors))


class _Visitor(asyncio.Protocol):
    def __init__(self, crowd):
        self.crowd, self.read, self.dripping = crowd, b"", None

    def connection_made(self, transport):
        self.transport = transport
        self.left = asyncio.get_running_loop().create_future()
        self.crowd.visitors.add(self)

    def connection_lost(self, _):
        self.crowd.visitors.discard(self)
        self.left.set_result(None)
        if self.dripping is not None:
            self.dripping.cancel()

    def data_received(self, data):
        self.read += data
        while b"\r\n\r\n" in self.read:
            head, _, self.read = self.read.partition(b"\r\n\r\n")
            first, *fields = head.decode("latin-1").split("\r\n")
            host = next(
                field[6:] for field in fields if field.lower().startswith("host: ")
            ).partition(":")[0]
            self.answer(host, first.split(" ")[1])

    def answer(self, host, path):
        """Answer a request, at once or byte by byte."""
        answer = NOT_FOUND
        if path != "/robots.txt":
            self.crowd.requested[host] += 1
            body = self.crowd.page(host, path)
            answer = HEAD % len(body) + body
        at_once = self.crowd.drips(host, path)
        self.transport.write(answer[:at_once])
        if at_once is not None:
            self.drip(answer, at_once)

    def drip(self, answer, at):
        self.transport.write(answer[at : at + 1])
        self.dripping = asyncio.get_running_loop().call_later(1, self.drip, answer, at + 1)


class _Names(asyncio.DatagramProtocol):
    """A name server that answers 127.0.0.1, whatever the name."""

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        end = data.index(b"\0", 12) + 5
        head = data[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0)
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 300, 4) + socket.inet_aton("127.0.0.1")
        self.transport.sendto(head + data[12:end] + record, peer)


@contextmanager
def served(crowd):
    """Serve the crowd during the block."""
    loop, stop, started = uvloop.new_event_loop(), asyncio.Event(), Event()

    async def serve():
        started.set()
        await crowd.serve(stop)

    thread = Thread(target=loop.run_until_complete, args=(serve(),), name="crowd", daemon=True)
    thread.start()
    started.wait()
    try:
        yield crowd
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def side_by_side(folder, seconds, pairs, **settings):
    """Crawl each crowd from its seeds for so many seconds, all at the same time, and kill them."""
    with ExitStack() as stack:
        for number, (crowd, hosts) in enumerate(pairs):
            stack.enter_context(served(crowd))
            (folder / f"seeds{number}.txt").write_text(
                "".join(f"http://{host}:{crowd.port}/\n" for host in hosts)
            )
            arguments = {"seeds": folder / f"seeds{number}.txt"}
            crawl = Crawl(
                folder / f"job{number}",
                arguments,
                {"DNS_NAMESERVERS": crowd.nameserver, **settings},
            )
            stack.callback(_kill, crawl.start().process)
        wait_until(lambda: any(crowd.requested for crowd, _ in pairs))
        time.sleep(seconds)


def _kill(process):
    process.kill()
    process.join()
