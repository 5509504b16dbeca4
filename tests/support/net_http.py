"""Shared by the tests of the HTTP client: loops, small misbehaving servers, fakes of resolver and
guard.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from webcrawl.base.url_text import Ports
from webcrawl.net.errors import AddressRefused, DnsFailed
from webcrawl.net.http import HttpClient
from webcrawl.net.protocols import Access, FetchLimits
from webcrawl.net.reading_limits import Bandwidth

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

EVERY_PORT = Ports([range(1, 65536)])  # for what a server in a test listens on


def _uvloop():
    return pytest.importorskip("uvloop").new_event_loop()


# Crawls run on uvloop; asyncio's own loop is for programs that have begun one, and tests/hostile is
# run on it too.
LOOPS = (pytest.param("asyncio", marks=pytest.mark.campaign), "uvloop")
_FACTORIES = {"asyncio": asyncio.new_event_loop, "uvloop": _uvloop}


def run(coroutine: Coroutine[Any, Any, Any], loop: str = "asyncio") -> Any:
    """Run to the end on a loop of this kind; a task or socket left behind is an error."""
    with asyncio.Runner(loop_factory=_FACTORIES[loop]) as runner:
        return runner.run(asyncio.wait_for(coroutine, 120))


class Names:
    """A resolver with a fixed table; a name not in it has no address."""

    def __init__(self, **table: list[str]) -> None:
        self.table = table
        # all addresses of a name whose other family was not asked for
        self.more: dict[str, list[str]] = {}
        self.requested: list[str] = []

    async def resolve(self, host: str) -> list[str]:
        self.requested.append(host)
        if host.replace(".", "").isdigit() or ":" in host:
            return [host]
        name = host.partition(".")[0]
        if name not in self.table:
            raise DnsFailed(host, permanent=True)
        return self.table[name]

    async def others(self, host: str) -> list[str]:
        return self.more.get(host.partition(".")[0], [])


@contextmanager
def silence(address: str, port: int):
    """Let nothing answer at this address during the block: the queue of its listening socket is
    full.
    """
    with socket.socket() as full, ExitStack() as stack:
        full.bind((address, port))
        full.listen(0)
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((address, port))
        yield


class Gate:
    """A guard that allows all of 127.0.0.0/8 except the addresses in `shut`."""

    def __init__(self, *shut: str) -> None:
        self.shut = shut
        self.checked: list[tuple[str, int]] = []

    def check(self, address: str, port: int) -> None:
        self.checked.append((address, port))
        if address in self.shut or not address.removeprefix("::ffff:").startswith("127."):
            raise AddressRefused(address)


@asynccontextmanager
async def serving(
    handler: Handler, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, port: int = 0
):
    """Serve in the same loop during the block; yield the port.

    asyncio.start_server would leave a connection open that is between accept(2) and its protocol
    when the server closes.
    """
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(accepted: socket.socket) -> None:
        """Answer a connection."""
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted, ssl=tls)
        except OSError:  # a handshake failed
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(AttributeError):  # of Python 3.11.2, if TLS has ended already
                transport.abort()

    def accept() -> None:
        try:
            accepted, _ = listening.accept()
        except OSError:  # the client has left already
            return
        accepted.setblocking(False)
        task = loop.create_task(serve(accepted))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        # a task that is cancelled before its first step has no transport that would close it
        task.add_done_callback(lambda _: accepted.close())

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=100)
    listening.setblocking(False)
    loop.add_reader(listening, accept)
    try:
        yield listening.getsockname()[1]
    finally:
        loop.remove_reader(listening)
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def in_thread(manager):
    """Enter an asynchronous context manager in a thread and a loop of its own; yield what it
    yields.
    """
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        given = asyncio.run_coroutine_threadsafe(manager.__aenter__(), loop).result(120)
        try:
            yield given
        finally:
            asyncio.run_coroutine_threadsafe(manager.__aexit__(None, None, None), loop).result(120)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def tunnel(reader, writer, port, first=b""):
    """Connect a client with what listens at a port of 127.0.0.1, until both have ended.

    `first` is sent there before anything else.
    """
    its_reader, its_writer = await asyncio.open_connection("127.0.0.1", port)
    its_writer.write(first)
    try:
        await asyncio.gather(_copy(reader, its_writer), _copy(its_reader, writer))
    finally:
        its_writer.transport.abort()


async def _copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def bounds(options: dict[str, Any]) -> FetchLimits:
    """Take a client's bounds out of a test's options, and return them; deadlines are short."""
    names = ("truncate", "timeout", "strict", "grace", "rate")
    taken = {name: options.pop(name) for name in names if name in options}
    return FetchLimits(**{"timeout": 10.0, **taken})


def limited(rate: int) -> Bandwidth:
    """Return a bandwidth of so many bytes per second for all answers together."""
    bandwidth = Bandwidth()
    bandwidth.limit(rate)
    return bandwidth


@asynccontextmanager
async def client(
    names: Names | None = None,
    guard: Gate | None = None,
    connect_timeout: float = 5.0,
    **options: Any,
):
    """Yield a client with short deadlines, which is closed at the end."""
    shared = {
        name: options.pop(name)
        for name in ("shortage", "bind", "room", "bandwidth")
        if name in options
    }
    access = Access(names or Names(), guard or Gate(), connect_timeout, **shared)
    http = HttpClient(access, bounds(options), **{"user_agent": "tests/1", **options})
    try:
        yield http
    finally:
        await http.close()


def replay(*pieces: bytes, hang: bool = False) -> Handler:
    """A handler that reads one request head, sends these pieces one by one and closes (or stays
    silent).
    """

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if len(pieces) > 1:
                await asyncio.sleep(0.002)
        if hang:
            await asyncio.sleep(60)
        elif writer.can_write_eof():
            writer.write_eof()
            await reader.read()

    return handler


async def answer(*pieces: bytes, hang: bool = False, path: str = "/", **options: Any):
    """The exchange with a server that sends exactly these bytes."""
    fetch = {name: options.pop(name) for name in ("method", "keep", "headers") if name in options}
    async with serving(replay(*pieces, hang=hang)) as port, client(**options) as http:
        return await http.fetch(f"http://127.0.0.1:{port}{path}", **fetch)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Visits:
    """A server that answers every request on a connection and counts connections and requests."""

    def __init__(self, *answers, close_after=0, idle=None):
        self.answers = answers or (OK,)
        self.close_after = close_after
        self.idle = idle
        self.connections = 0
        self.requests = []

    async def __call__(self, reader, writer):
        self.connections += 1
        requested = 0
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            self.requests.append(head + await reader.readexactly(length))
            writer.write(self.answers[(len(self.requests) - 1) % len(self.answers)])
            await writer.drain()
            requested += 1
            if requested == self.close_after:
                return
            if self.idle is not None:
                await asyncio.sleep(0.02)  # separate from the answer
                writer.write(self.idle)


async def fetches(visits, count, pause=0.0, options=None, **fetch):
    async with serving(visits) as port, client(**(options or {})) as http:
        made = []
        for _ in range(count):
            made.append(await http.fetch(f"http://127.0.0.1:{port}/", **fetch))
            await asyncio.sleep(pause)
        return made, http.counters


def open_files() -> int:
    """How many file descriptors this process holds."""
    return len(list(Path("/proc/self/fd").iterdir()))


def connections_to(port: int) -> int:
    """How many sockets of this process are connected to a port, by the kernel's tables."""
    ours = {os.path.realpath(fd).rpartition("/")[2] for fd in Path("/proc/self/fd").iterdir()}
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path("/proc/self/net", table).read_text().splitlines()[1:]
    ]
    return sum(row[2].endswith(f":{port:04X}") and f"socket:[{row[9]}]" in ours for row in rows)
