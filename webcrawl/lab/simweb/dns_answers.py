"""The answers of the name server, for each kind of name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from webcrawl.lab.simweb.web_answers import Web

A, CNAME, AAAA = 1, 5, 28
TTL = 3600


class Rcode(IntEnum):
    """RFC 1035, 4.1.1."""

    NOERROR = 0
    SERVFAIL = 2
    NXDOMAIN = 3
    REFUSED = 5


class Standing(IntEnum):
    """Says if pages of a host can be fetched."""

    OPEN = 0
    UNSURE = 1  # some crawlers may fetch them, others may refuse to
    SHUT = 2


@dataclass(frozen=True, slots=True)
class Record:
    """One resource record."""

    name: str
    type: int
    data: str  # an address or a name
    ttl: int = TTL


@dataclass(frozen=True, slots=True)
class Reply:
    """The server's reply to a question, if it sends one."""

    rcode: Rcode = Rcode.NOERROR
    records: tuple[Record, ...] = ()
    truncated: bool = False  # over UDP only the TC bit is sent, so that the client asks again over TCP
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and how many times it has been asked that way."""

    name: str
    type: int
    tcp: bool = False
    attempt: int = 1
    server: str = ""  # the address of the name server that was asked


def reply(world: Web, question: Question) -> Reply:
    """The reply to a question. A host's aliases exist if its own kind uses them."""
    alias, _, name = question.name.partition(".via.")
    host = world.number(name or alias)
    if host is None:
        return Reply(Rcode.NXDOMAIN)
    return NAMES.get(world.kind("dns", host), _plain)(world, host, question)


def _plain(world: Web, host: int, question: Question) -> Reply:
    return Reply(records=_addresses(question, world.address(host)))


def _addresses(question: Question, *addresses: str, ttl: int = TTL) -> tuple[Record, ...]:
    """No AAAA records, except where a kind says so: the synthetic web is in 127.0.0.0/8."""
    if question.type != A:
        return ()
    return tuple(Record(question.name, A, address, ttl) for address in addresses)


def _failing(rcode: Rcode) -> Callable[[Web, int, Question], Reply]:
    return lambda _, __, ___: Reply(rcode)


def _silent(_: Web, __: int, ___: Question) -> Reply:
    return Reply(silent=True)


def _cname(world: Web, host: int, question: Question) -> Reply:
    """Two aliases before the address. The server follows them itself (RFC 1034, 3.6.2)."""
    name, chain = world.name(host), [question.name]
    if question.name == name:
        chain += [f"a.via.{name}", f"b.via.{name}"]
    aliases = tuple(Record(owner, CNAME, target, TTL) for owner, target in pairwise(chain))
    return Reply(records=aliases + _addresses(Question(chain[-1], question.type), world.address(host)))


def _cname_loop(world: Web, host: int, _: Question) -> Reply:
    name = world.name(host)
    return Reply(records=(Record(name, CNAME, f"a.via.{name}"), Record(f"a.via.{name}", CNAME, name)))


def _truncated(world: Web, host: int, question: Question) -> Reply:
    return _plain(world, host, question) if question.tcp else Reply(truncated=True)


def _short(world: Web, host: int, question: Question) -> Reply:
    return Reply(records=_addresses(question, world.address(host), ttl=1))


def _many(world: Web, host: int, question: Question) -> Reply:
    served = (world.address(host + step) for step in range(min(world.addresses, 20)))
    return Reply(records=_addresses(question, *served))


def _first_dead(world: Web, host: int, question: Question) -> Reply:
    return Reply(records=_addresses(question, DEAD, world.address(host)))


def _dead(_: Web, __: int, question: Question) -> Reply:
    return Reply(records=_addresses(question, DEAD))


def _outside(_: Web, __: int, question: Question) -> Reply:
    return Reply(records=_addresses(question, OUTSIDE))


def _mixed(world: Web, host: int, question: Question) -> Reply:
    return Reply(records=_addresses(question, OUTSIDE, world.address(host)))


def _aaaa(world: Web, host: int, question: Question) -> Reply:
    if question.type == AAAA:
        return Reply(records=(Record(question.name, AAAA, f"::ffff:{world.address(host)}"),))
    return _plain(world, host, question)


def _ipv6(world: Web, host: int, question: Question) -> Reply:
    return Reply(records=(Record(question.name, AAAA, world.address(host)),) if question.type == AAAA else ())


def _dual(world: Web, host: int, question: Question) -> Reply:
    return (
        Reply(records=(Record(question.name, AAAA, LOOPBACK6),))
        if question.type == AAAA
        else _plain(world, host, question)
    )


def _recovers(world: Web, host: int, question: Question) -> Reply:
    return Reply(Rcode.SERVFAIL) if question.attempt == 1 else _plain(world, host, question)


OUTSIDE = "127.9.9.9"  # outside the 127.0.0.0/16 that a crawl of this web is allowed
DEAD = "127.0.255.254"  # nothing listens here
LOOPBACK6 = "::1"  # of the hosts that have only IPv6

IPV6, DUAL = "dns_ipv6", "dns_dual"
BY_NAME = {IPV6, DUAL}  # only in mixes that name them: they need a machine with [::1], and a crawl that may go there
NAMES: dict[str, Callable[[Web, int, Question], Reply]] = {
    "dns_nxdomain": _failing(Rcode.NXDOMAIN),
    "dns_servfail": _failing(Rcode.SERVFAIL),
    "dns_refused": _failing(Rcode.REFUSED),
    "dns_silent": _silent,
    "dns_cname": _cname,
    "dns_cname_loop": _cname_loop,
    "dns_truncated": _truncated,
    "dns_short": _short,
    "dns_many": _many,
    "dns_first_dead": _first_dead,
    "dns_dead": _dead,
    "dns_outside": _outside,
    "dns_mixed": _mixed,
    "dns_aaaa": _aaaa,
    "dns_recovers": _recovers,
    IPV6: _ipv6,
    DUAL: _dual,
}
STANDING: dict[str, Standing] = {
    **dict.fromkeys(
        ("dns_nxdomain", "dns_servfail", "dns_refused", "dns_silent", "dns_cname_loop", "dns_dead", "dns_outside"),
        Standing.SHUT,
    ),
    # A guard may refuse a name if any of its addresses is forbidden.
    "dns_mixed": Standing.UNSURE,
}
