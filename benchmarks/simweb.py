"""Pages per second of CPU time that the synthetic web serves: it must never be what other benchmarks measure.

The baseline is the least that a server of such pages can do: one fixed answer of the middle size, from the same kind of
event loop, without looking at the request.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import ssl
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection as Pipe

from benchmarks.support.report import report
from benchmarks.support.simweb_client import fetch_all
from webcrawl.lab.simweb import Log, Server, World
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.web_server import new_event_loop

SIZE = (20_000, 40_000)
ADDRESS = "127.0.0.1"


class Fixed(asyncio.Protocol):
    """The baseline: answers every read with the same bytes."""

    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + bytes(30_000)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, _: bytes) -> None:
        self._transport.write(self.answer)


def world(mix: dict[str, float]) -> World:
    return World(1000, 1_000_000, port=0, tls_port=0, mix=mix, size=SIZE, addresses=1)


def serve(pipe: Pipe, mix: dict[str, float] | None) -> None:
    """Serves until told to stop, and reports its CPU time when asked."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        if mix is None:
            server = await loop.create_server(Fixed, ADDRESS, 0)
            port = server.sockets[0].getsockname()[1]
        else:
            simweb = Server(world(mix), log=Log(keep=False))
            await simweb.start()
            port = simweb.world.tls_port if "https" in mix else simweb.world.port
        pipe.send(port)
        while await loop.run_in_executor(None, pipe.recv):
            pipe.send(time.process_time())

    new_event_loop().run_until_complete(work())
    os._exit(0)


def requests(pages: int, mix: dict[str, float], port: int, headers: str) -> Iterator[bytes]:
    """Requests for the pages of all hosts in turn."""
    served = world(mix)
    served.settle(port, port)
    for number in range(pages):
        host = number % 1000
        authority = served.origin(host).partition("//")[2]
        target = path(number // 1000 % served.pages_of(host))
        yield f"GET {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: benchmark\r\n{headers}\r\n".encode()


def measure(name: str, pages: int, connections: int, mix: dict[str, float] | None, headers: str = "") -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, mix))
    process.start()
    port = ours.recv()
    context = None
    if mix is not None and "https" in mix:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    asked = iter([*requests(pages, mix or {}, port, headers)])
    ours.send(1)
    before, began, own = ours.recv(), time.perf_counter(), time.process_time()
    answers, size = new_event_loop().run_until_complete(fetch_all(ADDRESS, port, asked, connections, context))
    seconds, own = time.perf_counter() - began, time.process_time() - own
    ours.send(1)
    cpu = ours.recv() - before
    ours.send(0)
    process.join()
    report(
        f"simweb.{name}",
        pages=answers,
        pages_per_server_cpu_second=round(answers / cpu),
        pages_per_second=round(answers / seconds),
        server_us_per_page=cpu / answers * 1e6,
        client_us_per_page=own / answers * 1e6,
        mean_bytes=size // answers,
        connections=connections,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simweb", description=__doc__)
    parser.add_argument("--n", type=int, default=50_000, help="pages of each workload (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    measure("baseline", options.n, options.connections, None)
    measure("plain", options.n, options.connections, {})
    measure("gzip", options.n // 5, options.connections, {"host_gzip": 1.0}, "Accept-Encoding: gzip\r\n")
    measure("https", options.n // 5, options.connections, {"https": 1.0})


if __name__ == "__main__":
    main()
