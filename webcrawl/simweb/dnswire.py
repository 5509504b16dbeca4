"""DNS messages as bytes (RFC 1035, 4)."""

from __future__ import annotations

import ipaddress
import struct

from webcrawl.simweb.names import AAAA, CNAME, A, Question, Record, Reply

_HEADER = struct.Struct(">6H")
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION = 0x8000, 0x0400, 0x0200, 0x0180
_IN = 1
MAX_UDP = 512  # RFC 1035, 2.3.4; longer answers are truncated, since this server does not support EDNS


def parse(message: bytes, *, tcp: bool) -> tuple[int, Question, bytes] | None:
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


def pack(number: int, question: Question, asked: bytes, reply: Reply) -> bytes:
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
