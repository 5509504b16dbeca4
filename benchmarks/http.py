"""The cost of a fetch: CPU time of the HTTP client, compared with aiohttp's, with the server in a separate process."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
from isal import isal_zlib

from webcrawl.net.http import HttpClient
from webcrawl.net.protocols import Access, Bounds

PAGE = b"".join(b"<p><a href=/page/%d>the page of number %d</a></p>\n" % (n * 7919, n) for n in range(4000))


class Server(asyncio.Protocol):
    """Answers every request with the same page, and closes the connection if asked to."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self.answers = answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(self.answers[data[5:6]])
        if b"\r\nConnection: close\r\n" in data:
            self.transport.close()


def certificate(folder: str) -> ssl.SSLContext:
    pem = f"{folder}/server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", f"{pem}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{pem}.crt", pem)
    return context


async def serve(size: int) -> None:
    page = PAGE[:size]
    zipped = isal_zlib.compress(page, 2, wbits=31)
    head = b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 20 Nov 2025 10:00:00 GMT\r\nVary: Accept-Encoding\r\n"
    head += b'Content-Type: text/html; charset=utf-8\r\nLast-Modified: Thu, 20 Nov 2025 09:00:00 GMT\r\nETag: "x"\r\n'
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(page[at : at + 8192]), page[at : at + 8192]) for at in range(0, size, 8192)
    )
    answers = {
        b"p": head + b"Content-Length: %d\r\n\r\n" % size + page,
        b"g": head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(zipped) + zipped,
        b"c": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
    }
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory() as folder:
        servers = [
            await loop.create_server(lambda: Server(answers), "127.0.0.1", 0, ssl=tls, backlog=1024)
            for tls in (None, certificate(folder))
        ]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.Event().wait()


class Loopback:
    """A resolver and a guard for names that all lead to the server."""

    async def resolve(self, host: str) -> list[str]:
        return ["127.0.0.1"]

    def check(self, address: str, port: int) -> None: ...


Fetch = Callable[[int], Awaitable[int]]


async def measure(fetch: Fetch, n: int, at_once: int) -> float:
    """CPU microseconds per fetch, the best of three rounds."""

    async def worker(number: int, count: int) -> None:
        for _ in range(count):
            if not await fetch(number):
                raise SystemExit("an empty page")

    async def everybody(count: int) -> None:
        await asyncio.gather(*(worker(number, count) for number in range(at_once)))

    await everybody(2)
    best = float("inf")
    for _ in range(3):
        before = time.process_time()
        await everybody(n // at_once)
        best = min(best, time.process_time() - before)
    return best / (n // at_once * at_once) * 1e6


async def ours(url: str, keep: float, n: int, at_once: int) -> float:
    """One host per worker, as in a crawl: the client keeps one connection to each."""
    http = HttpClient(Access(Loopback(), Loopback()), Bounds(), user_agent="bench")

    async def fetch(number: int) -> int:
        return len((await http.fetch(url.format(f"host{number}.test"), keep=keep)).body)

    try:
        return await measure(fetch, n, at_once)
    finally:
        await http.close()


async def theirs(url: str, keep: float, n: int, at_once: int) -> float:
    """One host for all workers, so that aiohttp needs no resolver."""
    connector = aiohttp.TCPConnector(limit=0, force_close=not keep, ssl=False)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=True) as session:

        async def fetch(_: int) -> int:
            async with session.get(url.format("127.0.0.1")) as response:
                return len(await response.read())

        return await measure(fetch, n, at_once)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    options.add_argument("--n", type=int, default=6000)
    options.add_argument("--at-once", type=int, default=64)
    options.add_argument("--bytes", type=int, default=37_000)
    options.add_argument("--serve", action="store_true")
    given = options.parse_args()
    if given.serve:
        return asyncio.run(serve(given.bytes))
    command = [sys.executable, "-m", "benchmarks.http", "--serve", "--bytes", str(given.bytes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as server:
        try:
            plain, tls = server.stdout.readline().split()
            run(given, plain, tls)
        finally:
            server.terminate()
    return None


def run(given: argparse.Namespace, plain: str, tls: str) -> None:
    for loop, factory in loops().items():
        for name, scheme, path, keep, share in (
            ("kept", "http", "p", 60, 1),
            ("kept gzip", "http", "g", 60, 1),
            ("kept chunked", "http", "c", 60, 1),
            ("new", "http", "p", 0, 2),
            ("kept TLS", "https", "p", 60, 2),
            ("new TLS", "https", "p", 0, 6),
        ):
            url = f"{scheme}://{{}}:{tls if scheme == 'https' else plain}/{path}"
            figures = {}
            for client, work in (("webcrawl", ours), ("aiohttp", theirs)):
                with asyncio.Runner(loop_factory=factory) as runner:
                    figures[client] = round(runner.run(work(url, keep, given.n // share, given.at_once)), 1)
            ratio = round(figures["aiohttp"] / figures["webcrawl"], 2)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(json.dumps({"bench": "http", "loop": loop, "what": name, "us": figures, "ratio": ratio, "rss": peak}))


def loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    known: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    try:
        import uvloop  # noqa: PLC0415 - measured where it is installed
    except ImportError:
        return known
    return {**known, "uvloop": uvloop.new_event_loop}


if __name__ == "__main__":
    main()
