"""An HTTP/1.1 client for crawling: exact bytes, everything bounded, connections kept only while useful."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

from webcrawl.model import Exchange, Timings
from webcrawl.net.connection import Connection
from webcrawl.net.connection_open import Opener
from webcrawl.net.connection_pool import ConnectionPool
from webcrawl.net.deadlines import Deadlines
from webcrawl.net.errors import EmptyAnswer, TimedOut
from webcrawl.net.http_answer import Answer
from webcrawl.net.http_message import Message
from webcrawl.net.http_request import Headers, RequestWriter
from webcrawl.net.http_target import Target, parse_target
from webcrawl.net.protocols import Access, Bounds, Watch
from webcrawl.net.tls import tls_context


@dataclass(slots=True)
class Counters:
    """Connection counts, for the stats."""

    opened: int = 0
    reused: int = 0
    stale: int = 0  # kept connections that the server had closed before the next request


class HttpClient:
    """Fetches http and https URLs. Concurrency and politeness are up to the caller."""

    def __init__(
        self,
        access: Access,
        bounds: Bounds,
        *,
        user_agent: str,
        keep_at_most: int = 256,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._writer = RequestWriter(user_agent)
        self._truncate, self._timeout = bounds.truncate, bounds.timeout
        self._clock, self._now = access.clock, access.now
        self._opener = Opener(access, tls or tls_context())
        self._pool = ConnectionPool(keep_at_most)
        access.shortage.on_pause = self._pool.give_up
        self._deadlines = Deadlines(bounds)
        self.counters = Counters()

    async def fetch(
        self,
        url: str,
        headers: Headers = (),
        *,
        keep: float = 0.0,
        method: str = "GET",
        body: bytes = b"",
        watch: Watch | None = None,
    ) -> Exchange:
        """Request a URL and wait for the response, `timeout` seconds in all; raises FetchError.

        `keep`: seconds to keep the connection for the host's next request. A kept connection that ends without a
        response is an error; the caller retries, since it keeps the delay between requests.
        """
        target = parse_target(url)
        head = self._writer.head(target, headers, method=method, keep=keep > 0, length=len(body))
        started, begun, timings = self._now(), self._clock(), Timings()
        deadline = asyncio.get_running_loop().time() + self._timeout
        key = (target.secure, target.host, target.port)
        connection = self._pool.take(key)
        if reused := connection is not None:
            self.counters.reused += 1
        else:
            connection = await self._connected(target, timings, deadline)
        if watch is not None:
            watch.source = connection
        answer = Answer(self._truncate, bodiless=method == "HEAD")
        self._deadlines.add(connection, deadline)
        asked = self._clock()
        try:
            message = await connection.ask(head + body, answer)
        except EmptyAnswer:  # the server may or may not have read the request
            self.counters.stale += reused
            raise
        finally:
            self._deadlines.remove(connection)
        timings.first_byte = max(connection.first_byte - asked, 0.0)
        timings.total = self._clock() - begun
        if connection.open:
            if keep > 0:
                self._pool.keep(key, connection, keep)
            else:
                connection.abort()
        return _exchange(url, head, started, timings, connection, message)

    async def close(self) -> None:
        """Close all connections and wait until their sockets are closed."""
        self._pool.close()
        self._deadlines.close()
        await self._opener.close()

    async def _connected(self, target: Target, timings: Timings, deadline: float) -> Connection:
        try:
            async with asyncio.timeout_at(deadline):
                connection = await self._opener.open(target, timings)
        except TimeoutError as error:
            raise TimedOut("no connection within the deadline") from error
        self.counters.opened += 1
        return connection


def _exchange(
    url: str, request: bytes, started: float, timings: Timings, connection: Connection, message: Message
) -> Exchange:
    head = message.head
    wire, payload, body = message.forms()
    return Exchange(
        url=url,
        request=request,
        status=head.status,
        head=head.raw,
        headers=head.headers,
        wire=wire,
        payload=payload,
        body=body,
        ip=connection.ip,
        started=started,
        timings=timings,
        truncated=message.truncated,
        flaws=(*connection.flaws, *message.flaws),
        tls=connection.tls,
    )
