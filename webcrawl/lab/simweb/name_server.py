"""The name server of the synthetic web over UDP and TCP, its messages as bytes (RFC 1035, 4), and
what it answers.
"""

from __future__ import annotations

import asyncio
import ipaddress
import struct
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from typing import Any

from webcrawl.lab.simweb.web_answers import Web

A, CNAME, AAAA = 1, 5, 28  # types of records: RFC 1035 3.2.2, RFC 3596 2.1
TTL = 3600  # seconds


class Rcode(IntEnum):
    """RFC 1035, 4.1.1."""

    NOERROR = 0
    SERVFAIL = 2
    NXDOMAIN = 3
    REFUSED = 5


class HostStanding(IntEnum):
    """Says if pages of a host can be fetched."""

    OPEN = 0
    UNSURE = 1  # some crawlers may fetch them, others may refuse to
    SHUT = 2


@dataclass(frozen=True, slots=True)
class ResourceRecord:
    """One resource record."""

    name: str
    type: int
    data: str  # an address or a name
    ttl: int = TTL


@dataclass(frozen=True, slots=True)
class DnsReply:
    """The server's reply to a question, if it sends one."""

    rcode: Rcode = Rcode.NOERROR
    records: tuple[ResourceRecord, ...] = ()
    # over UDP only the TC bit is sent, so that the client asks again over TCP
    truncated: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and how many times it has been asked that way."""

    name: str
    type: int
    tcp: bool = False
    attempt: int = 1
    server: str = ""  # the address of the name server that was asked


def reply(world: Web, question: Question) -> DnsReply:
    """Return the reply to a question. A host's aliases exist if its own kind uses them."""
    alias, _, name = question.name.partition(".via.")
    host = world.number(name or alias)
    if host is None:
        return DnsReply(Rcode.NXDOMAIN)
    return NAMES.get(world.kind("dns", host), _plain)(world, host, question)


def _plain(world: Web, host: int, question: Question) -> DnsReply:
    return DnsReply(records=_addresses(question, world.address(host)))


def _addresses(question: Question, *addresses: str, ttl: int = TTL) -> tuple[ResourceRecord, ...]:
    """No AAAA records, except where a kind says so: the synthetic web is in 127.0.0.0/8."""
    if question.type != A:
        return ()
    return tuple(ResourceRecord(question.name, A, address, ttl) for address in addresses)


def _failing(rcode: Rcode) -> Callable[[Web, int, Question], DnsReply]:
    return lambda _, __, ___: DnsReply(rcode)


def _cname(world: Web, host: int, question: Question) -> DnsReply:
    """Two aliases before the address. The server follows them itself (RFC 1034, 3.6.2)."""
    name, chain = world.name(host), [question.name]
    if question.name == name:
        chain += [f"a.via.{name}", f"b.via.{name}"]
    aliases = tuple(ResourceRecord(owner, CNAME, target, TTL) for owner, target in pairwise(chain))
    return DnsReply(
        records=aliases + _addresses(Question(chain[-1], question.type), world.address(host))
    )


def _cname_loop(world: Web, host: int, _: Question) -> DnsReply:
    name = world.name(host)
    return DnsReply(
        records=(
            ResourceRecord(name, CNAME, f"a.via.{name}"),
            ResourceRecord(f"a.via.{name}", CNAME, name),
        )
    )


def _many(world: Web, host: int, question: Question) -> DnsReply:
    served = (world.address(host + step) for step in range(min(world.addresses, 20)))
    return DnsReply(records=_addresses(question, *served))


def _six(question: Question, address: str, otherwise: DnsReply) -> DnsReply:
    return (
        DnsReply(records=(ResourceRecord(question.name, AAAA, address),))
        if question.type == AAAA
        else otherwise
    )


def _first(question: Question, first: str, world: Web, host: int) -> DnsReply:
    """An address that is of no use before the host's own."""
    return DnsReply(records=_addresses(question, first, world.address(host)))


OUTSIDE = "127.9.9.9"  # outside the 127.0.0.0/16 that a crawl of this web is allowed
DEAD = "127.0.255.254"  # nothing listens here
LOOPBACK6 = "::1"  # of the hosts that have only IPv6

IPV6, DUAL = "dns_ipv6", "dns_dual"
# only in mixes that name them: they need a machine with [::1], and a crawl that may go there
BY_NAME = {IPV6, DUAL}
NAMES: dict[str, Callable[[Web, int, Question], DnsReply]] = {
    "dns_nxdomain": _failing(Rcode.NXDOMAIN),
    "dns_servfail": _failing(Rcode.SERVFAIL),
    "dns_refused": _failing(Rcode.REFUSED),
    "dns_silent": lambda _, __, ___: DnsReply(silent=True),
    "dns_cname": _cname,
    "dns_cname_loop": _cname_loop,
    # RFC 1035 4.2.1: a client asks again over TCP
    "dns_truncated": lambda web, host, asked: (
        _plain(web, host, asked) if asked.tcp else DnsReply(truncated=True)
    ),
    # An outage of such a name is noticed after a second
    "dns_short": lambda web, host, asked: DnsReply(
        records=_addresses(asked, web.address(host), ttl=1)
    ),
    # More addresses than the eight that are kept
    "dns_many": _many,
    "dns_first_dead": lambda web, host, asked: _first(asked, DEAD, web, host),
    "dns_dead": lambda _, __, asked: DnsReply(records=_addresses(asked, DEAD)),
    "dns_outside": lambda _, __, asked: DnsReply(records=_addresses(asked, OUTSIDE)),
    # One address outside, one inside
    "dns_mixed": lambda web, host, asked: _first(asked, OUTSIDE, web, host),
    # IPv4-mapped: connecting to it reaches the IPv4 address, so a guard has to look inside
    "dns_aaaa": lambda web, host, asked: _six(
        asked, f"::ffff:{web.address(host)}", _plain(web, host, asked)
    ),
    # A failure of the server, and not of the name: asking again helps
    "dns_recovers": lambda web, host, asked: (
        DnsReply(Rcode.SERVFAIL) if asked.attempt == 1 else _plain(web, host, asked)
    ),
    IPV6: lambda web, host, asked: _six(asked, web.address(host), DnsReply()),
    DUAL: lambda web, host, asked: _six(asked, LOOPBACK6, _plain(web, host, asked)),
}
STANDING: dict[str, HostStanding] = {
    **dict.fromkeys(
        (
            "dns_nxdomain",
            "dns_servfail",
            "dns_refused",
            "dns_silent",
            "dns_cname_loop",
            "dns_dead",
            "dns_outside",
        ),
        HostStanding.SHUT,
    ),
    # A guard may refuse a name if any of its addresses is forbidden.
    "dns_mixed": HostStanding.UNSURE,
}


_HEADER = struct.Struct(">6H")
# Bits of the second word: RFC 1035 4.1.1
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION = 0x8000, 0x0400, 0x0200, 0x0180
_NOT_QUERY = 0xF800  # the bits of a response, and of another operation than a query
_MAX_LABEL = 63  # bytes of a label: RFC 1035, 2.3.4
_IN = 1  # the Internet, a class: RFC 1035 3.2.4
# RFC 1035, 2.3.4; longer answers are truncated, since this server does not support EDNS
MAX_UDP = 512


def parse_query(message: bytes, *, tcp: bool) -> tuple[int, Question, bytes] | None:
    """Return the id of a query, its question, and that question's bytes.

    None if the message is not a query with one question.
    """
    if len(message) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(message)
    is_query = not flags & _NOT_QUERY
    if not is_query or questions != 1:
        return None
    labels, end = _labels(message, _HEADER.size)
    has_end = end < len(message) and not message[end]
    if not has_end or len(message) < end + 5:  # the empty label, type and class
        return None
    (kind,) = struct.unpack_from(">H", message, end + 1)
    name = b".".join(labels).decode("latin-1").lower()
    return number, Question(name, kind, tcp), message[_HEADER.size : end + 5]


def _labels(message: bytes, at: int) -> tuple[list[bytes], int]:
    """Return the labels of the name that begins at this place, and where they end."""
    labels = []
    while at < len(message) and 0 < message[at] <= _MAX_LABEL:
        size = message[at]
        labels.append(message[at + 1 : at + 1 + size])
        at += 1 + size
    return labels, at


def pack_reply(number: int, question: Question, asked: bytes, reply: DnsReply) -> bytes:
    """Return the answer message.

    It repeats the question exactly, in the same upper and lower case.
    """
    records = b"".join(map(_record, reply.records))
    size = _HEADER.size + len(asked) + len(records)
    short = not question.tcp and (reply.truncated or size > MAX_UDP)
    flags = _RESPONSE | _AUTHORITATIVE | _RECURSION | (_TRUNCATED if short else 0) | reply.rcode
    top = _HEADER.pack(number, flags, 1, 0 if short else len(reply.records), 0, 0)
    return top + asked + (b"" if short else records)


def _record(record: ResourceRecord) -> bytes:
    data = _name(record.data) if record.type == CNAME else ipaddress.ip_address(record.data).packed
    if len(data) != {A: 4, AAAA: 16}.get(record.type, len(data)):
        raise ValueError(f"not an address of its type: {record}")
    return _name(record.name) + struct.pack(">HHIH", record.type, _IN, record.ttl, len(data)) + data


def _name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


HEARD = 10_000  # questions that are remembered


class NameServer:
    """Answers DNS messages; `asked` counts the questions by name, type and transport.

    `heard` has the last ones with their moments, in seconds of the machine's monotonic clock.
    """

    def __init__(self, reply: Callable[[Question], DnsReply]) -> None:
        self._reply = reply
        self.asked: Counter[tuple[str, int, str]] = Counter()
        self.heard: deque[tuple[float, Question]] = deque(maxlen=HEARD)
        self.connections: set[_Connection] = set()

    def respond(self, message: bytes, *, tcp: bool, server: str = "") -> bytes | None:
        """Return the answer to a message, None if it gets none."""
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
