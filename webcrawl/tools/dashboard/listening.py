"""Listens until somebody interrupts it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from webcrawl.tools.dashboard.access_guard import Guard
from webcrawl.tools.dashboard.crawl_states import Ask, Finder
from webcrawl.tools.dashboard.dashboard_server import Server
from webcrawl.tools.why.answer import why

GRACE = 1.0  # seconds for open pages to be closed
IDLE = 30.0  # seconds for which a connection is kept
AT_ONCE = 16  # connections accepted in one turn, and kept waiting by the kernel
LACKS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
SAID = 60.0  # seconds between two lines on that


class NotListening(Exception):  # noqa: N818 - reads as what it is
    """The address cannot be listened on; the message is one line."""


def run(finder: Finder, where: str, address: tuple[str, int], ask: Ask, say: Callable[[str], None]) -> None:
    """Says where the dashboard is, and serves it until SIGINT or SIGTERM. `where` it looks for crawls, for people."""
    host, port = address
    listener = _listen(host, port)
    with listener, contextlib.suppress(KeyboardInterrupt):
        guard = Guard(host, listener.getsockname()[1])
        server = Server(guard, finder, where, ask, _why)
        asyncio.run(_serve(server, listener, lambda: _tell(guard, host, say), Lack(say)))


def _tell(guard: Guard, host: str, say: Callable[[str], None]) -> None:
    say(f"dashboard: {guard.address()}")
    if not _is_loopback(host):
        say("whoever reads the network can read this address: better listen on loopback, and come by ssh -L")


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(found[4][:2], family=found[0], backlog=AT_ONCE)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise NotListening(f"{host}:{port}: {why}") from error


class Lack:
    """Says in a line that no more connections can be taken; asyncio would write a traceback for each, without end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._next = say, 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in LACKS:
            loop.default_exception_handler(context)
        elif loop.time() >= self._next:
            self._next = loop.time() + SAID
            self._say(f"no connection can be taken until others are closed: {error.strerror}")


async def _serve(server: Server, listener: socket.socket, tell: Callable[[], None], lack: Lack) -> None:
    asyncio.get_running_loop().set_exception_handler(lack)
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=GRACE, keepalive_timeout=IDLE)
    await runner.setup()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    try:
        await web.SockSite(runner, listener, backlog=AT_ONCE).start()
        tell()
        await end.wait()
    finally:
        await runner.cleanup()


def _why(jobdir: Path, url: str) -> Any:
    return why(jobdir, url).to_json()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
