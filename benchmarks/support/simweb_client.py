"""A client that only counts: kept connections that request page after page, without parsing the answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"Content-Length: "


class Reader(asyncio.Protocol):
    """One connection, with a request after each answer until there are no more."""

    def __init__(self, requests: Iterator[bytes], totals: list[int], done: asyncio.Future[None]) -> None:
        self._requests, self._totals, self._done = requests, totals, done
        self._missing = 0  # bytes of the answer still to come
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._totals[1] += len(data)
        if not self._missing:
            self._head += data
            end = self._head.find(END_OF_HEAD)
            if end < 0:
                return
            start = self._head.index(LENGTH) + len(LENGTH)
            length = int(self._head[start : self._head.index(b"\r", start)])
            self._missing, data, self._head = length, self._head[end + 4 :], b""
        self._missing -= len(data)
        if not self._missing:
            self._totals[0] += 1
            self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("the server closed a connection"))

    def _ask(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
        elif not self._done.done():
            self._done.set_result(None)


async def fetch_all(
    address: str, port: int, requests: Iterator[bytes], connections: int, context: ssl.SSLContext | None = None
) -> list[int]:
    """Answers and bytes received for all requests, over so many connections."""
    loop, totals = asyncio.get_running_loop(), [0, 0]
    done = [loop.create_future() for _ in range(connections)]
    opened = [
        await loop.create_connection(lambda one=one: Reader(requests, totals, one), address, port, ssl=context)
        for one in done
    ]
    await asyncio.gather(*done)
    for transport, _ in opened:
        transport.close()
    return totals
