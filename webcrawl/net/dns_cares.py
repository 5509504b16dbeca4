"""Queries name servers directly and concurrently, through c-ares (Mercator 3.3: system resolvers query one by one)."""

from __future__ import annotations

import socket
from collections.abc import Iterable

import pycares

from webcrawl.net.authority import host_port
from webcrawl.net.dns_answer import Answer, Failure
from webcrawl.net.dns_chain import Chain
from webcrawl.net.dns_channel import NO_SOCKET, Channel
from webcrawl.net.errors import DnsFailed
from webcrawl.net.shortage import missing_socket

HOPS = 8  # CNAMEs between a name and its addresses, at most
QUESTIONS = 4096  # per channel: c-ares' own cache cannot be disabled and keeps 1.3 KB per name for up to an hour
FAILURES = {
    pycares.errno.ARES_ENODATA: Failure.NO_ADDRESS,
    pycares.errno.ARES_ENOTFOUND: Failure.NO_NAME,
    pycares.errno.ARES_EBADNAME: Failure.BAD_NAME,
    pycares.errno.ARES_ESERVFAIL: Failure.SERVER_FAILED,
    pycares.errno.ARES_ENOTIMP: Failure.REFUSED,
    pycares.errno.ARES_EREFUSED: Failure.REFUSED,
    pycares.errno.ARES_ETIMEOUT: Failure.TIMEOUT,
    pycares.errno.ARES_ECONNREFUSED: Failure.TIMEOUT,
    pycares.errno.ARES_ENOMEM: Failure.NO_SOCKET,
    NO_SOCKET: Failure.NO_SOCKET,
    pycares.errno.ARES_ECANCELLED: Failure.CLOSED,
    pycares.errno.ARES_EDESTRUCTION: Failure.CLOSED,
}


class NameServers:
    """Asks `servers`, by default the system's; each is tried `tries` times, waiting longer each time.

    c-ares begins with a quarter of a second, whatever `timeout` is, once it has some quick answers: names that the
    server has to ask for itself take longer, and so does a busy machine. So it is the tries that give them time, eight
    to twelve seconds. With three tries it was a second and a half.

    IPv4 first, IPv6 only for a name without it: one question per name instead of two, and every crawler has IPv4.
    Raises DnsFailed if a server is given by a name that the system cannot resolve.
    """

    def __init__(self, servers: Iterable[tuple[str, int]] = (), *, timeout: float = 1.0, tries: int = 6) -> None:
        self._servers = tuple(place for host, port in servers for place in places(host, port))
        self._timeout, self._tries = timeout, tries
        self._channels: list[Channel] = []  # queries go to the last one; the others wait for their last answers
        self._closed = False

    def __repr__(self) -> str:
        return f"<NameServers {', '.join(self._servers) or 'of the system'}>"

    async def ask(self, host: str) -> Answer:
        for qtype in (pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_AAAA):
            answer = await self._ask(host, qtype)
            if answer.failure is not Failure.NO_ADDRESS:
                break
        return answer

    async def _ask(self, host: str, qtype: int) -> Answer:
        """Follows CNAMEs that the name server has not followed itself."""
        chain = Chain(host)
        for _ in range(HOPS):
            if self._closed:
                return Answer(failure=Failure.CLOSED)
            channel = self._current()
            if channel is None:
                return Answer(failure=Failure.NO_SOCKET)
            records, error = await channel.ask(chain.name, qtype)
            if error:
                return Answer(failure=FAILURES.get(error, Failure.BAD_ANSWER))
            if not chain.follow(records):
                return Answer(failure=Failure.NO_ADDRESS)
            if chain.addresses:
                return Answer(chain.addresses, chain.ttl)
        return Answer(failure=Failure.BAD_ANSWER)

    def _current(self) -> Channel | None:
        """The channel for the next query; None if there is no descriptor or memory to make one with."""
        if not self._channels or self._channels[-1].asked >= QUESTIONS:
            new = self._new_channel()
            if new is None:
                return None
            for channel in self._channels:
                channel.retire()
            self._channels = [*(channel for channel in self._channels if not channel.closed), new]
        return self._channels[-1]

    def _new_channel(self) -> Channel | None:
        if missing_socket():  # c-ares could not read resolv.conf, and would ask 127.0.0.1
            return None
        try:
            return Channel(self._servers, self._timeout, self._tries)
        except pycares.AresError:  # it lacks memory or descriptors: nothing that a server could do
            return None

    async def probe(self) -> None:
        """Any answer will do, even an error; only silence fails. Every server knows the root's name servers."""
        channel = self._current()
        if channel is None:
            raise DnsFailed(Failure.NO_SOCKET.words)
        _, error = await channel.ask(".", pycares.QUERY_TYPE_NS)
        if FAILURES.get(error) is Failure.TIMEOUT:
            raise DnsFailed(f"no name server answers at {channel.servers}")

    async def check(self, host: str) -> Answer:
        """By a channel of its own, whose cache is empty."""
        channel = self._new_channel()
        if channel is None:
            return Answer(failure=Failure.NO_SOCKET)
        try:
            _, error = await channel.ask(host, pycares.QUERY_TYPE_A)
        finally:
            channel.close()
        return Answer(failure=FAILURES.get(error, Failure.BAD_ANSWER) if error else None)

    async def close(self) -> None:
        self._closed = True
        for channel in self._channels:
            channel.close()


def places(host: str, port: int) -> list[str]:
    """`address:port` of each address of this host: c-ares takes no names, and ignores what it cannot read."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise DnsFailed(f"DNS_NAMESERVERS = {host}:{port}: {error.strerror}") from error
    return [host_port(str(place[0]), port) for *_, place in found]
