"""A name server on loopback with a test's answers: UDP and TCP on one port."""

import asyncio
import socket
import struct
from contextlib import asynccontextmanager
from ipaddress import ip_address

from tests.support.net_http import serving

A, CNAME, PTR, TXT, AAAA = 1, 5, 12, 16, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


def _name(text: str) -> bytes:
    return (
        b"".join(bytes([len(label)]) + label.encode() for label in text.split(".") if label) + b"\0"
    )


def _record(owner: str, kind: int, ttl: int, value: str) -> bytes:
    """Return a resource record as bytes."""
    if kind == TXT:  # in strings of up to 255 bytes
        text = value.encode()
        data = b"".join(
            bytes([len(text[at : at + 255])]) + text[at : at + 255]
            for at in range(0, len(text) or 1, 255)
        )
    else:
        data = _name(value) if kind in (CNAME, PTR) else ip_address(value).packed
    return _name(owner) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


class NameServer:
    """A name server; `zone` has the records of a name in the order of the answer.

    Each is an owner, a type, a TTL and a value.
    """

    def __init__(self, zone=None, codes=None):
        self.zone: dict[str, list[tuple[str, int, int, str]]] = zone or {}
        self.codes: dict[str, int] = codes or {}
        self.silent: set[str] = set()
        self.truncated: set[str] = set()  # names that get an empty, truncated answer by UDP
        self.questions: list[tuple[str, int, str]] = []  # name, type, transport
        self.gate: asyncio.Event | None = None  # answers wait until it is set
        self.requested = asyncio.Event()
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def add(self, name: str, value: str, ttl: int = 300, kind: int = A) -> None:
        self.zone.setdefault(name, []).append((name, kind, ttl, value))

    def answer(self, question: bytes, transport: str) -> bytes | None:
        """Return the answer to a question, or None if it is to be silent."""
        end, labels = 12, []
        while size := question[end]:
            labels.append(question[end + 1 : end + 1 + size].decode())
            end += size + 1
        name, kind = ".".join(labels).lower(), int.from_bytes(question[end + 1 : end + 3], "big")
        self.questions.append((name, kind, transport))
        self.requested.set()
        if name in self.silent:
            return None
        records = [
            record
            for record in self.zone.get(name, ())
            if record[1] in (kind, CNAME) or record[0] != name
        ]
        code = self.codes.get(name, NOERROR if name in self.zone else NXDOMAIN)
        is_truncated = name in self.truncated and transport == "udp"
        if is_truncated or code:
            records = []
        flags = 0x8180 | (0x0200 if is_truncated else 0) | code
        head = question[:2] + struct.pack(">5H", flags, 1, len(records), 0, 0)
        return head + question[12 : end + 5] + b"".join(_record(*record) for record in records)

    @asynccontextmanager
    async def running(self):
        """Serve both transports on one port during the block."""
        async with serving(self._stream) as self.port, self._datagrams():
            yield self

    @asynccontextmanager
    async def _datagrams(self):
        """Answer what comes by UDP during the block."""
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        udp.bind(("127.0.0.1", self.port))
        loop = asyncio.get_running_loop()
        transport, datagrams = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self), sock=udp
        )
        try:
            yield
        finally:
            for task in datagrams.tasks:
                task.cancel()
            await asyncio.gather(*datagrams.tasks, return_exceptions=True)
            transport.close()

    async def _stream(self, reader, writer):
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(2), "big")
                answer = self.answer(await reader.readexactly(size), "tcp")
                if answer:
                    writer.write(len(answer).to_bytes(2, "big") + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server):
        self.server = server
        self.tasks: list[asyncio.Task] = []

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        self.tasks.append(asyncio.get_running_loop().create_task(self.reply(data, peer)))

    async def reply(self, data, peer):
        answer = self.server.answer(data, "udp")
        if self.server.gate is not None:
            await self.server.gate.wait()
        if answer:
            self.transport.sendto(answer, peer)
