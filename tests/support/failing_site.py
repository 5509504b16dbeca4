"""Hosts of their own names and addresses whose pages fail as a test says: by a status, truncated,
or all at once.
"""

import asyncio
import gzip
from collections import Counter
from contextlib import AsyncExitStack, contextmanager
from threading import Thread

from tests.support.net_http import serving
from tests.support.ports import free_port

WHOLE, TRUNCATED, STALLS = "whole", "truncated", "stalls"
UNENDED = "unended"  # a whole answer, with a coded body whose end its maker has lost
TEXT = b"<p>All that there is to say of this page.</p>" * 40


class FailingHosts:
    """host1.test to hostN.test, each with `pages` pages, /0 to /N, which the first page names.

    `behave(host, path, times)` returns a status, or how the body of a 200 ends; `times` says how
    often the page was requested.
    """

    def __init__(self, hosts, pages, behave, *, pause=0.0):
        self.names = [f"host{number}.test" for number in range(1, hosts + 1)]
        self.pages, self.behave, self.pause = pages, behave, pause
        self.requested, self.whole = Counter(), Counter()  # by URL without scheme and port
        self.port, self.reset = free_port(), 0
        self._servers, self._loop = AsyncExitStack(), asyncio.new_event_loop()
        self.midway = set()

    @property
    def hosts_file(self):
        return "".join(f"127.0.0.{at} {name}\n" for at, name in enumerate(self.names, 2))

    def seeds(self):
        return "".join(f"http://{name}:{self.port}/0\n" for name in self.names)

    async def _open(self):
        for at in range(2, len(self.names) + 2):
            await self._servers.enter_async_context(
                serving(self._serve, f"127.0.0.{at}", port=self.port)
            )

    async def _close(self, midway=0):
        """Refuse all connections, and reset the open ones, once so many answers are halfway."""
        while len(self.midway) < midway:  # noqa: ASYNC110 - in the loop whose answers it counts: none ends in between
            await asyncio.sleep(0.001)
        self.reset += len(self.midway)
        self.midway.clear()
        await self._servers.aclose()

    async def _serve(self, reader, writer):
        """Answer the requests of a connection until it ends."""
        while head := await reader.readuntil(b"\r\n\r\n"):
            await self._answer(head.decode().split("\r\n"), writer)

    async def _answer(self, lines, writer):
        """Answer a request as `behave` says."""
        path = lines[0].split(" ")[1]
        host = next(
            line[6:].partition(":")[0] for line in lines if line.lower().startswith("host:")
        )
        self.requested[host + path] += 1
        does = (
            404 if path == "/robots.txt" else self.behave(host, path, self.requested[host + path])
        )
        links = b""
        if path == "/0":
            links = b"".join(b"<a href=/%d>next</a>" % number for number in range(1, self.pages))
        body = b"<title>%s %s</title>" % (host.encode(), path.encode()) + links + TEXT
        status, coding = does if isinstance(does, int) else 200, b""
        if does == UNENDED:
            body, coding = gzip.compress(body)[:-20], b"Content-Encoding: gzip\r\n"
        writer.write(b"HTTP/1.1 %d OK\r\nContent-Type: text/html\r\n%b" % (status, coding))
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body))
        writer.write(body[:-100])
        await writer.drain()
        if does == TRUNCATED:
            raise ConnectionResetError
        self.midway.add(writer)
        await asyncio.sleep(3600 if does == STALLS else self.pause)
        self.midway.discard(writer)
        writer.write(body[-100:])
        await writer.drain()
        self.whole[host + path] += status == 200

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    def go_down(self, midway=0):
        self.run(self._close(midway))

    def come_back(self):
        self.run(self._open())

    @contextmanager
    def serving(self):
        """Serve during the block."""
        thread = Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        self.come_back()
        try:
            yield self
        finally:
            self.go_down()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()
