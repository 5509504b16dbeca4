"""The name server of the synthetic web, over UDP and TCP, and its messages as bytes (RFC 1035, 4)."""

from __future__ import annotations

import asyncio
import ipaddress
import struct
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from webcrawl.lab.simweb.dns_answers import AAAA, CNAME, A, Question, Record, Reply

_HEADER = struct.Struct(">6H")
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION = 0x8000, 0x0400, 0x0200, 0x0180
_IN = 1
MAX_UDP = 512  # RFC 1035, 2.3.4; longer answers are truncated, since this server does not support EDNS


def parse_query(message: bytes, *, tcp: bool) -> tuple[int, Question, bytes] | None:
    """The id of a query, its question, and that question's bytes; None if it is not a query with one question."""
    if len(message) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(message)
    labels, at = [], _HEADER.size
    while questions == 1 and at < len(message) and message[at] and message[at] < 64:
        labels.append(message[at + 1 : at + 1 + message[at]])
        at += 1 + message[at]
    if flags & 0xF800 or len(message) < at + 5 or message[at] or questions != 1:
        return None
    (kind,) = struct.unpack_from(">H", message, at + 1)
    name = b".".join(labels).decode("latin-1").lower()
    return number, Question(name, kind, tcp), message[_HEADER.size : at + 5]


def pack_reply(number: int, question: Question, asked: bytes, reply: Reply) -> bytes:
    """The answer message. It repeats the question exactly, in the same upper and lower case."""
    records = b"".join(map(_record, reply.records))
    size = _HEADER.size + len(asked) + len(records)
    short = not question.tcp and (reply.truncated or size > MAX_UDP)
    flags = _RESPONSE | _AUTHORITATIVE | _RECURSION | (_TRUNCATED if short else 0) | reply.rcode
    top = _HEADER.pack(number, flags, 1, 0 if short else len(reply.records), 0, 0)
    return top + asked + (b"" if short else records)


def _record(record: Record) -> bytes:
    data = _name(record.data) if record.type == CNAME else ipaddress.ip_address(record.data).packed
    if len(data) != {A: 4, AAAA: 16}.get(record.type, len(data)):
        raise ValueError(f"not an address of its type: {record}")
    return _name(record.name) + struct.pack(">HHIH", record.type, _IN, record.ttl, len(data)) + data


def _name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


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
        parsed = parse_query(message, tcp=tcp)
        if parsed is None:
            return None
        number, question, asked = parsed
        key = question.name, question.type, "tcp" if tcp else "udp"
        self.asked[key] += 1
        question = replace(question, attempt=self.asked[key], server=server)
        self.heard.append((time.monotonic(), question))
        reply = self._reply(question)
        return None if reply.silent else pack_reply(number, question, asked, reply)


class _Connection:
    """The part that both transports share."""

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
