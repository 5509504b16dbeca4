"""Queries name servers directly and concurrently, through c-ares.

Resolvers that handle one query at a time took 70 % of each thread's time (Mercator 3.3).

A Channel runs on the event loop's sockets and timer, without a thread.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address

import pycares
from pycares import AAAARecordData, ARecordData, CNAMERecordData, DNSRecord

from webcrawl.net.dns_answers import DnsAnswer, DnsFailure
from webcrawl.net.errors import DnsFailed
from webcrawl.net.http_request import host_port
from webcrawl.net.shortage import missing_socket

NO_SOCKET = -1  # as an error number, beside those of c-ares
# Errors of c-ares that may have been caused by a socket that could not be opened; it does not say
# which were.
UNCLEAR_ERRORS = frozenset(
    (pycares.errno.ARES_ECONNREFUSED, pycares.errno.ARES_ETIMEOUT, pycares.errno.ARES_EFILE)
)
TIMEOUT_CHECK_INTERVAL = 0.1  # seconds between checks of c-ares' timeouts while queries are open
# bytes of answers that the kernel keeps for us while we are busy; the system may allow less
BUFFER = 1 << 20

Result = tuple[list[pycares.DNSRecord], int]
"""The answer section, and c-ares' error number, NO_SOCKET or 0."""


class Channel:
    """Queries by UDP; c-ares repeats them by TCP if the answer is truncated.

    A query costs 52 us CPU in the loop, 60 through the library's event thread (which aiodns uses).
    """

    def __init__(self, servers: tuple[str, ...], timeout: float, tries: int) -> None:
        """`timeout`: seconds of the first try; `tries`: how often a query is sent."""
        self._loop = asyncio.get_running_loop()
        self._open: set[asyncio.Future[Result]] = set()
        self._sockets: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._last = False  # close after the last answer
        self.closed = False
        self.queries = 0
        self._ares = pycares.Channel(
            servers=servers or None,
            timeout=timeout,
            tries=tries,
            sock_state_cb=self._socket_state,
            socket_receive_buffer_size=BUFFER,
        )

    @property
    def servers(self) -> str:
        return ", ".join(self._ares.servers)

    def ask(self, name: str, qtype: int) -> asyncio.Future[Result]:
        """Start a query; failures are in the result, the future never raises."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._open.add(future)
        self.queries += 1
        try:
            self._ares.query(name, qtype, callback=partial(self._on_result, future))
        except ValueError:  # a name that c-ares cannot encode
            self._on_result(future, None, pycares.errno.ARES_EBADNAME)
        except pycares.AresError as error:  # it may have called back before
            self._on_result(future, None, error.args[0])
        if self._timer is None and self._open:
            self._timer = self._loop.call_later(TIMEOUT_CHECK_INTERVAL, self._tick)
        return future

    def _on_result(
        self, future: asyncio.Future[Result], result: pycares.DNSResult | None, error: int | None
    ) -> None:
        """Hand c-ares' result to the query's caller; close a channel after its last one."""
        self._open.discard(future)
        # The caller may have been cancelled.
        if not future.done():
            if error in UNCLEAR_ERRORS and missing_socket():
                error = NO_SOCKET
            records = result.answer if result else []
            future.set_result((records, error or 0))
        # A channel is not closed from inside c-ares' callback.
        if self._last and not self._open:
            self._loop.call_soon(self.close)

    def _tick(self) -> None:
        """Have c-ares look at the time.

        Before that it looks at what came while this process was busy, which is no time-out.
        """
        self._timer = None
        for fd in tuple(self._sockets):
            if fd in self._sockets:
                self._ares.process_read_fd(fd)
        self._ares.process_fd(pycares.ARES_SOCKET_BAD, pycares.ARES_SOCKET_BAD)
        if self._open:
            self._timer = self._loop.call_later(TIMEOUT_CHECK_INTERVAL, self._tick)

    def _socket_state(self, fd: int, readable: bool, writable: bool) -> None:  # noqa: FBT001 - c-ares' signature
        """Watch a socket of c-ares for what it waits for now; neither means that it is closed."""
        if self.closed:  # c-ares closes the last sockets in its own thread
            return
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)
        self._sockets.discard(fd)
        if readable:
            self._loop.add_reader(fd, self._ares.process_read_fd, fd)
        if writable:
            self._loop.add_writer(fd, self._ares.process_write_fd, fd)
        if readable or writable:
            self._sockets.add(fd)

    def retire(self) -> None:
        """Accept no more queries; close when none is open."""
        self._last = True
        if not self._open:
            self.close()

    def close(self) -> None:
        """Cancel open queries and close."""
        if self.closed:
            return
        self._ares.cancel()
        self.closed = True
        for fd in self._sockets:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
        if self._timer is not None:
            self._timer.cancel()
        self._ares.close()


MOST_ADDRESSES_PER_NAME = 8  # addresses kept per name: a crawler will not try more


@dataclass(slots=True)
class AliasChain:
    """The last name reached, its addresses if known, and the smallest TTL on the way."""

    name: str
    ttl: float = float("inf")
    addresses: tuple[str, ...] = ()

    def follow(self, records: Sequence[DNSRecord]) -> bool:
        """Follow the records of one answer; return False if they lead nowhere."""
        start = self.name
        self._follow_aliases(records)
        found: list[tuple[str, int]] = []
        for record in records:
            if not isinstance(record.data, ARecordData | AAAARecordData):
                continue
            # Addresses of another name than the last one of the chain do not count.
            if _key(record.name) == self.name:
                found.append((record.data.addr, record.ttl))
        del found[MOST_ADDRESSES_PER_NAME:]
        self.addresses = tuple(address for address, _ in found)
        self.ttl = min([self.ttl, *(ttl for _, ttl in found)])
        has_moved = self.name != start
        return bool(found) or has_moved

    def _follow_aliases(self, records: Sequence[DNSRecord]) -> None:
        aliases = {
            _key(record.name): (_key(record.data.cname), record.ttl)
            for record in records
            if isinstance(record.data, CNAMERecordData)
        }
        while self.name in aliases:
            self.name, ttl = aliases.pop(self.name)  # pop, so that a loop ends
            self.ttl = min(self.ttl, ttl)


def _key(name: str) -> str:
    return name.lower().removesuffix(".")


HOPS = 8  # CNAMEs between a name and its addresses, at most
# Of a channel: c-ares' own cache cannot be disabled, and keeps 1.3 KB per name for up to an hour,
# denials included. 40,000 names took 50 MB.
QUESTIONS = 4096
# Seconds, as CachingResolver keeps a failure: the cache would repeat a lie for longer.
LIFE = 30.0
MOST_ALONE = 16  # names that are asked for in channels of their own, at once
FAILURES = {
    pycares.errno.ARES_ENODATA: DnsFailure.NO_ADDRESS,
    pycares.errno.ARES_ENOTFOUND: DnsFailure.NO_NAME,
    pycares.errno.ARES_EBADNAME: DnsFailure.BAD_NAME,
    pycares.errno.ARES_ESERVFAIL: DnsFailure.SERVER_FAILED,
    pycares.errno.ARES_ENOTIMP: DnsFailure.REFUSED,
    pycares.errno.ARES_EREFUSED: DnsFailure.REFUSED,
    pycares.errno.ARES_ETIMEOUT: DnsFailure.TIMEOUT,
    pycares.errno.ARES_ECONNREFUSED: DnsFailure.TIMEOUT,
    pycares.errno.ARES_ENOMEM: DnsFailure.NO_SOCKET,
    NO_SOCKET: DnsFailure.NO_SOCKET,
    pycares.errno.ARES_ECANCELLED: DnsFailure.CLOSED,
    pycares.errno.ARES_EDESTRUCTION: DnsFailure.CLOSED,
}


class NameServers:
    """Asks `servers`, by default the system's.

    Each is tried `tries` times, waiting longer each time.

    c-ares begins with a quarter of a second, whatever `timeout` is, once it has some quick answers:
    names that the server has to ask for itself take longer, and so does a busy machine. So it is
    the tries that give them time, eight to twelve seconds. With three tries it was a second and a
    half.

    IPv4 first, IPv6 for a name without it, or if no connection opens soon: one question per name
    instead of two. Raises DnsFailed if a server is given by a name that the system cannot resolve.
    """

    def __init__(
        self, servers: Iterable[tuple[str, int]] = (), *, timeout: float = 1.0, tries: int = 6
    ) -> None:
        """`servers`: host and port of each; without any, those of the system."""
        self._servers = tuple(place for host, port in servers for place in places(host, port))
        self._timeout = timeout
        self._tries = tries
        # queries go to the last one; the others wait for their last answers
        self._channels: list[Channel] = []
        self._until = 0.0  # when the last channel is replaced
        self._alone = asyncio.Semaphore(MOST_ALONE)
        self._closed = False

    def __repr__(self) -> str:
        return f"<NameServers {', '.join(self._servers) or 'of the system'}>"

    async def ask(self, host: str) -> DnsAnswer:
        # Both questions for each name would be twice the load on name servers, and 52 us more, for
        # hosts that are reached anyway.
        answer = await self._ask(host, pycares.QUERY_TYPE_A)
        if answer.failure is DnsFailure.NO_ADDRESS:
            return await self.ask_six(host)
        if answer.failure is not None:
            return answer
        return DnsAnswer(answer.addresses, answer.ttl, half=True)

    async def ask_six(self, host: str) -> DnsAnswer:
        return await self._ask(host, pycares.QUERY_TYPE_AAAA)

    async def _ask(self, host: str, qtype: int) -> DnsAnswer:
        """Follow CNAMEs that the name server has not followed itself."""
        chain = AliasChain(host)
        for _ in range(HOPS):
            if self._closed:
                return DnsAnswer(failure=DnsFailure.CLOSED)
            channel = self._current()
            if channel is None:
                return DnsAnswer(failure=DnsFailure.NO_SOCKET)
            records, error = await channel.ask(chain.name, qtype)
            if error == pycares.errno.ARES_EBADRESP:
                records, error = await self._ask_alone(chain.name, qtype)
            if error:
                return DnsAnswer(failure=FAILURES.get(error, DnsFailure.BAD_ANSWER))
            if not chain.follow(records):
                return DnsAnswer(failure=DnsFailure.NO_ADDRESS)
            if chain.addresses:
                return DnsAnswer(chain.addresses, chain.ttl)
        return DnsAnswer(failure=DnsFailure.BAD_ANSWER)

    async def _ask_alone(self, name: str, qtype: int) -> Result:
        """Ask in a channel without other queries.

        After an answer that it cannot read, c-ares sends all queries of that socket anew. So a name
        that only gets such answers uses up the tries of all others that are asked for meanwhile.
        """
        async with self._alone:
            if self._closed:
                return [], pycares.errno.ARES_ECANCELLED
            channel = self._new_channel()
            if channel is None:
                return [], NO_SOCKET
            try:
                return await channel.ask(name, qtype)
            finally:
                channel.close()

    def _current(self) -> Channel | None:
        """Return the channel for the next query, or None.

        It is an old one if there is no descriptor or memory to make one.
        """
        last = self._channels[-1] if self._channels else None
        is_old = last is None or last.queries >= QUESTIONS or time.monotonic() >= self._until
        if not is_old:
            return last
        new = self._new_channel()
        if new is None:
            return last
        for channel in self._channels:
            channel.retire()
        self._channels = [*(channel for channel in self._channels if not channel.closed), new]
        self._until = time.monotonic() + LIFE
        return new

    def _new_channel(self) -> Channel | None:
        # Without a descriptor c-ares cannot read resolv.conf, and asks 127.0.0.1 without a word.
        if missing_socket():
            return None
        try:
            return Channel(self._servers, self._timeout, self._tries)
        except pycares.AresError:
            # This machine lacks memory or descriptors: no server is to blame.
            return None

    async def probe(self) -> None:
        """Ask for the root's name servers, which every server knows.

        Any answer will do, even an error; only silence fails.
        """
        channel = self._current()
        if channel is None:
            raise DnsFailed(DnsFailure.NO_SOCKET.words)
        _, error = await channel.ask(".", pycares.QUERY_TYPE_NS)
        if FAILURES.get(error) is DnsFailure.TIMEOUT:
            raise DnsFailed(f"no name server answers: {channel.servers}")

    async def check(self, host: str) -> DnsAnswer:
        """Look the name up in a channel of its own, whose cache is empty."""
        channel = self._new_channel()
        if channel is None:
            return DnsAnswer(failure=DnsFailure.NO_SOCKET)
        try:
            answer = await _once(channel, host, pycares.QUERY_TYPE_A)
            if answer.failure is DnsFailure.NO_ADDRESS:
                answer = await _once(channel, host, pycares.QUERY_TYPE_AAAA)
        finally:
            channel.close()
        return answer

    async def close(self) -> None:
        self._closed = True
        for channel in self._channels:
            channel.close()


async def _once(channel: Channel, host: str, qtype: int) -> DnsAnswer:
    """Ask one question.

    An alias that the name server does not follow is an answer without addresses.
    """
    records, error = await channel.ask(host, qtype)
    if error:
        return DnsAnswer(failure=FAILURES.get(error, DnsFailure.BAD_ANSWER))
    chain = AliasChain(host)
    chain.follow(records)
    return DnsAnswer(chain.addresses, chain.ttl)


def places(host: str, port: int) -> list[str]:
    """Return `address:port` of each address of this host.

    c-ares takes no names, and ignores what it cannot read.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise DnsFailed(f"DNS_NAMESERVERS = {host}:{port}: {error.strerror}") from error
    return [host_port(str(place[0]), port) for *_, place in found]


EMPTY = (DnsFailure.NO_ADDRESS, DnsFailure.NO_NAME)


class ReverseNames:
    """A few questions at the start of a crawl, by the name servers that it asks; or DnsFailed."""

    def __init__(
        self, servers: Iterable[tuple[str, int]] = (), *, timeout: float = 2.0, tries: int = 2
    ) -> None:
        found = tuple(place for host, port in servers for place in places(host, port))
        try:
            self._channel = Channel(found, timeout, tries)
        except pycares.AresError as error:  # it lacks memory or descriptors
            raise DnsFailed(DnsFailure.NO_SOCKET.words) from error

    async def names(self, address: str) -> tuple[str, ...] | None:
        """Return the names of an address, none if it has none; None if there is no answer."""
        records = await self._ask(ip_address(address).reverse_pointer, pycares.QUERY_TYPE_PTR)
        if records is None:
            return None
        found = [
            record.data.dname
            for record in records
            if isinstance(record.data, pycares.PTRRecordData)
        ]
        return tuple(name.lower().removesuffix(".") for name in found)

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """Return the addresses of a name, of both families; None if there is no answer."""
        found: list[str] = []
        for qtype in (pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_AAAA):
            records = await self._ask(name, qtype)
            if records is None:
                return None
            data = (record.data for record in records)
            found += [
                str(ip_address(one.addr))
                for one in data
                if isinstance(one, pycares.ARecordData | pycares.AAAARecordData)
            ]
        return tuple(found)

    def close(self) -> None:
        self._channel.close()

    async def _ask(self, name: str, qtype: int) -> list[pycares.DNSRecord] | None:
        records, error = await self._channel.ask(name, qtype)
        if error:
            return [] if FAILURES.get(error) in EMPTY else None
        return records
