"""The name server of the synthetic web, over UDP and TCP."""

from __future__ import annotations

import asyncio
import struct
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from webcrawl.simweb.dnswire import pack, parse
from webcrawl.simweb.names import Question, Reply

HEARD = 10_000


class NameServer:
    """Answers DNS messages; `asked` counts the questions by name, type and transport.

    `heard` has the last ones with their moments, in seconds of the machine's monotonic clock.
    """

    def __init__(self, reply: Callable[[Question], Reply]) -> None:
        self._reply = reply
        self.asked: Counter[tuple[str, int, str]] = Counter()
        self.heard: deque[tuple[float, Question]] = deque(maxlen=HEARD)
        self.connections: set[_Connection] = set()

    def respond(self, message: bytes, *, tcp: bool, server: str = "") -> bytes | None:
        """The answer to a message, None if it gets none."""
        parsed = parse(message, tcp=tcp)
        if parsed is None:
            return None
        number, question, asked = parsed
        key = question.name, question.type, "tcp" if tcp else "udp"
        self.asked[key] += 1
        question = replace(question, attempt=self.asked[key], server=server)
        self.heard.append((time.monotonic(), question))
        reply = self._reply(question)
        return None if reply.silent else pack(number, question, asked, reply)


class _Connection:
    """What both transports share."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._address: str = transport.get_extra_info("sockname")[0]
        self._server.connections.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._server.connections.discard(self)
        self.closed.set_result(None)

    def stop(self) -> None:
        self._transport.abort()


class Udp(_Connection, asyncio.DatagramProtocol):
    """One message per datagram."""

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._server.respond(data, tcp=False, server=self._address)
        if answer is not None:
            self._transport.sendto(answer, addr)


class Tcp(_Connection, asyncio.Protocol):
    """Each message is preceded by its length in two bytes (RFC 1035, 4.2.2)."""

    def __init__(self, server: NameServer) -> None:
        super().__init__(server)
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 2:
            (length,) = struct.unpack_from(">H", self._buffer)
            if len(self._buffer) < 2 + length:
                return
            message, self._buffer = self._buffer[2 : 2 + length], self._buffer[2 + length :]
            answer = self._server.respond(message, tcp=True, server=self._address)
            if answer is not None:
                self._transport.write(struct.pack(">H", len(answer)) + answer)
