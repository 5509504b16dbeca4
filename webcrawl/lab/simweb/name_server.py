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
    """The response code of a reply: RFC 1035, 4.1.1."""

    NOERROR = 0
    SERVFAIL = 2
    NXDOMAIN = 3
    REFUSED = 5


class HostStanding(IntEnum):
    """How far a crawler can fetch pages of a host; of several reasons the greatest counts."""

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
    """The server's reply to a question; none is sent if it is `silent`."""

    rcode: Rcode = Rcode.NOERROR
    records: tuple[ResourceRecord, ...] = ()
    # over UDP only the TC bit is sent, so that the client asks again over TCP
    truncated: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a name server.

    `attempt` counts how often it has come with this transport, this time included.
    """

    name: str
    type: int
    tcp: bool = False
    attempt: int = 1
    server: str = ""  # the address of the name server that was asked


def reply(world: Web, question: Question) -> DnsReply:
    """Return the reply to a question about a host of the world, or NXDOMAIN for any other name.

    A host's aliases, `a.via.HOST` and `b.via.HOST`, have the same kind of reply as the host.
    """
    alias, _, name = question.name.partition(".via.")
    host = world.number(name or alias)
    if host is None:
        return DnsReply(Rcode.NXDOMAIN)
    return DNS_KINDS.get(world.kind("dns", host), _plain_reply)(world, host, question)


def _plain_reply(world: Web, host: int, question: Question) -> DnsReply:
    return DnsReply(records=_addresses(question, world.address(host)))


def _addresses(question: Question, *addresses: str, ttl: int = TTL) -> tuple[ResourceRecord, ...]:
    """Return a record for each of these IPv4 addresses, or none if the question is of another type.

    The synthetic web is in 127.0.0.0/8, so only a few kinds have AAAA records.
    """
    if question.type != A:
        return ()
    return tuple(ResourceRecord(question.name, A, address, ttl) for address in addresses)


def _error_reply(rcode: Rcode) -> Callable[[Web, int, Question], DnsReply]:
    return lambda _, __, ___: DnsReply(rcode)


def _cname_reply(world: Web, host: int, question: Question) -> DnsReply:
    """Reply with two aliases before the address. The server follows them itself (RFC 1034, 3.6.2)."""
    name = world.name(host)
    chain = [question.name]
    if question.name == name:
        chain += [f"a.via.{name}", f"b.via.{name}"]
    aliases = tuple(ResourceRecord(owner, CNAME, target, TTL) for owner, target in pairwise(chain))
    return DnsReply(
        records=aliases + _addresses(Question(chain[-1], question.type), world.address(host))
    )


def _cname_loop_reply(world: Web, host: int, _: Question) -> DnsReply:
    name = world.name(host)
    return DnsReply(
        records=(
            ResourceRecord(name, CNAME, f"a.via.{name}"),
            ResourceRecord(f"a.via.{name}", CNAME, name),
        )
    )


def _many_addresses(world: Web, host: int, question: Question) -> DnsReply:
    served = (world.address(host + step) for step in range(min(world.addresses, 20)))
    return DnsReply(records=_addresses(question, *served))


def _ipv6_reply(question: Question, address: str, ipv4_reply: DnsReply) -> DnsReply:
    """Reply to a question for AAAA records with this address, and to any other with `ipv4_reply`."""
    if question.type == AAAA:
        return DnsReply(records=(ResourceRecord(question.name, AAAA, address),))
    return ipv4_reply


def _reply_with_first(question: Question, first: str, world: Web, host: int) -> DnsReply:
    """Reply with an address that is of no use, and then with the host's own."""
    return DnsReply(records=_addresses(question, first, world.address(host)))


OUTSIDE = "127.9.9.9"  # outside the 127.0.0.0/16 that a crawl of this web is allowed
DEAD = "127.0.255.254"  # nothing listens here
LOOPBACK6 = "::1"  # of the hosts that have only IPv6

IPV6, DUAL = "dns_ipv6", "dns_dual"
# Only in mixes that name them: they need a machine with [::1], and a crawl that may go there
IPV6_KINDS = {IPV6, DUAL}
DNS_KINDS: dict[str, Callable[[Web, int, Question], DnsReply]] = {
    "dns_nxdomain": _error_reply(Rcode.NXDOMAIN),
    "dns_servfail": _error_reply(Rcode.SERVFAIL),
    "dns_refused": _error_reply(Rcode.REFUSED),
    "dns_silent": lambda _, __, ___: DnsReply(silent=True),
    "dns_cname": _cname_reply,
    "dns_cname_loop": _cname_loop_reply,
    # RFC 1035 4.2.1: a client asks again over TCP
    "dns_truncated": lambda web, host, query: (
        _plain_reply(web, host, query) if query.tcp else DnsReply(truncated=True)
    ),
    # An outage of such a name is noticed after a second
    "dns_short": lambda web, host, query: DnsReply(
        records=_addresses(query, web.address(host), ttl=1)
    ),
    # More addresses than the eight that are kept
    "dns_many": _many_addresses,
    "dns_first_dead": lambda web, host, query: _reply_with_first(query, DEAD, web, host),
    "dns_dead": lambda _, __, query: DnsReply(records=_addresses(query, DEAD)),
    "dns_outside": lambda _, __, query: DnsReply(records=_addresses(query, OUTSIDE)),
    # One address outside, one inside
    "dns_mixed": lambda web, host, query: _reply_with_first(query, OUTSIDE, web, host),
    # IPv4-mapped: connecting to it reaches the IPv4 address, so a guard has to look inside
    "dns_aaaa": lambda web, host, query: _ipv6_reply(
        query, f"::ffff:{web.address(host)}", _plain_reply(web, host, query)
    ),
    # A failure of the server, and not of the name: asking again helps
    "dns_recovers": lambda web, host, query: (
        DnsReply(Rcode.SERVFAIL) if query.attempt == 1 else _plain_reply(web, host, query)
    ),
    IPV6: lambda web, host, query: _ipv6_reply(query, web.address(host), DnsReply()),
    DUAL: lambda web, host, query: _ipv6_reply(query, LOOPBACK6, _plain_reply(web, host, query)),
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
_MAX_LABEL_BYTES = 63  # RFC 1035, 2.3.4
_IN = 1  # the Internet, a class: RFC 1035 3.2.4
# RFC 1035, 2.3.4; longer answers are truncated, since this server does not support EDNS
MAX_UDP_BYTES = 512


def parse_query(message: bytes, *, tcp: bool) -> tuple[int, Question, bytes] | None:
    """Return the id of a query, its question, and that question's bytes.

    Return None if the message is not a query with exactly one question.
    """
    if len(message) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(message)
    is_query = not flags & _NOT_QUERY
    if not is_query or questions != 1:
        return None
    labels, end = _read_labels(message, _HEADER.size)
    is_terminated = end < len(message) and not message[end]
    after = end + 5  # the empty label, and two bytes each for type and class
    if not is_terminated or len(message) < after:
        return None
    (kind,) = struct.unpack_from(">H", message, end + 1)
    name = b".".join(labels).decode("latin-1").lower()
    return number, Question(name, kind, tcp), message[_HEADER.size : after]


def _read_labels(message: bytes, at: int) -> tuple[list[bytes], int]:
    """Return the labels of the name that begins at this offset, and the offset after them."""
    labels = []
    while at < len(message) and 0 < message[at] <= _MAX_LABEL_BYTES:
        size = message[at]
        labels.append(message[at + 1 : at + 1 + size])
        at += 1 + size
    return labels, at


def pack_reply(number: int, question: Question, question_bytes: bytes, reply: DnsReply) -> bytes:
    """Return the message with this reply.

    `question_bytes` has the bytes of the question. The message repeats them exactly, in the same
    upper and lower case. If it is too long for UDP, it has no records and the TC bit set.
    """
    records = b"".join(map(_encoded_record, reply.records))
    size = _HEADER.size + len(question_bytes) + len(records)
    flags = _RESPONSE | _AUTHORITATIVE | _RECURSION | reply.rcode
    is_truncated = not question.tcp and (reply.truncated or size > MAX_UDP_BYTES)
    if is_truncated:
        return _HEADER.pack(number, flags | _TRUNCATED, 1, 0, 0, 0) + question_bytes
    return _HEADER.pack(number, flags, 1, len(reply.records), 0, 0) + question_bytes + records


def _encoded_record(record: ResourceRecord) -> bytes:
    """Return a record as bytes. Raise ValueError if its address does not fit its type."""
    data = _encoded_data(record)
    return (
        _encoded_name(record.name)
        + struct.pack(">HHIH", record.type, _IN, record.ttl, len(data))
        + data
    )


def _encoded_data(record: ResourceRecord) -> bytes:
    if record.type == CNAME:
        return _encoded_name(record.data)
    address = ipaddress.ip_address(record.data).packed
    if len(address) != {A: 4, AAAA: 16}[record.type]:
        raise ValueError(f"not an address of its type: {record}")
    return address


def _encoded_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


MAX_RECENT_QUESTIONS = 10_000


class NameServer:
    """Answers DNS messages, and remembers the questions.

    `question_counts` counts them by name, type and transport. `recent_questions` has the last ones
    with their moments, in seconds of the machine's monotonic clock.
    """

    def __init__(self, reply: Callable[[Question], DnsReply]) -> None:
        self._reply = reply
        self.question_counts: Counter[tuple[str, int, str]] = Counter()
        self.recent_questions: deque[tuple[float, Question]] = deque(maxlen=MAX_RECENT_QUESTIONS)
        self.connections: set[_Connection] = set()

    def respond(self, message: bytes, *, tcp: bool, server: str = "") -> bytes | None:
        """Return the answer to a message, None if it gets none."""
        parsed = parse_query(message, tcp=tcp)
        if parsed is None:
            return None
        number, question, question_bytes = parsed
        key = question.name, question.type, "tcp" if tcp else "udp"
        self.question_counts[key] += 1
        question = replace(question, attempt=self.question_counts[key], server=server)
        self.recent_questions.append((time.monotonic(), question))
        reply = self._reply(question)
        return None if reply.silent else pack_reply(number, question, question_bytes, reply)


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
        """Answer all messages that are complete; the rest waits for more data."""
        self._buffer += data
        while len(self._buffer) >= 2:
            (length,) = struct.unpack_from(">H", self._buffer)
            if len(self._buffer) < 2 + length:
                return
            message, self._buffer = self._buffer[2 : 2 + length], self._buffer[2 + length :]
            answer = self._server.respond(message, tcp=True, server=self._address)
            if answer is not None:
                self._transport.write(struct.pack(">H", len(answer)) + answer)
