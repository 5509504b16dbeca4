"""Finger (RFC 1288) as a protocol module: a class that speaks it, and a download handler that names the class."""

import asyncio
import time
from urllib.parse import urlsplit

from webcrawl.adapter.handlers import HttpHandler
from webcrawl.base.model import Exchange, Timings
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import BadOption, TimedOut
from webcrawl.net.protocols import PLAIN
from webcrawl.net.stream import Stream, read_body


class Finger:
    """Sends one line; everything up to the close is the answer."""

    def __init__(self, network, timeout=30.0):
        self.timeout = timeout
        self.reach = Reach(network.access, Stream, "gopher")

    async def fetch(
        self, url, headers=(), *, keep=0.0, method="GET", body=b"", options=PLAIN, watch=None
    ):
        if options is not PLAIN:
            raise BadOption(
                "finger: a request cannot choose a proxy, a local address, a timeout or a size"
            )
        target, timings, started = urlsplit(url), Timings(), time.time()
        deadline = asyncio.get_running_loop().time() + self.timeout
        try:
            async with asyncio.timeout_at(deadline):
                stream = await self.reach.open(target.hostname, target.port or 79, timings)
        except TimeoutError as error:
            raise TimedOut("no connection within the deadline") from error
        if watch is not None:
            watch.source = stream
        try:
            stream.write(target.path[1:].encode() + b"\r\n")
            text, truncated = await read_body(stream, 100_000, deadline)
        finally:
            stream.abort()
        timings.total = time.time() - started
        kind = [(b"content-type", b"text/plain")]
        return Exchange(
            url, b"", 200, b"", kind, text, text, text, stream.ip, started, timings, truncated
        )


class FingerHandler(HttpHandler):
    def module(self, network):
        return Finger(network)
