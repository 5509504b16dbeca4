"""Queries name servers for other records than a crawl's addresses: names of addresses (PTR), and texts (TXT)."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

import pycares

from webcrawl.net.dns_answer import Failure
from webcrawl.net.dns_cares import FAILURES, Channel, places
from webcrawl.net.errors import DnsFailed, NoSocket
from webcrawl.net.shortage import missing_socket

EMPTY = (Failure.NO_ADDRESS, Failure.NO_NAME)


class ReverseNames:
    """A few questions at the start of a crawl, by the name servers that it asks; or DnsFailed."""

    def __init__(self, servers: Iterable[tuple[str, int]] = (), *, timeout: float = 2.0, tries: int = 2) -> None:
        found = tuple(place for host, port in servers for place in places(host, port))
        try:
            self._channel = Channel(found, timeout, tries)
        except pycares.AresError as error:  # it lacks memory or descriptors
            raise DnsFailed(Failure.NO_SOCKET.words) from error

    async def names(self, address: str) -> tuple[str, ...] | None:
        """The names of an address, none if it has none; None if there is no answer."""
        records = await self._ask(ip_address(address).reverse_pointer, pycares.QUERY_TYPE_PTR)
        if records is None:
            return None
        found = [record.data.dname for record in records if isinstance(record.data, pycares.PTRRecordData)]
        return tuple(name.lower().removesuffix(".") for name in found)

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """The addresses of a name, of both families; None if there is no answer."""
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


class TextRecords:
    """Each question has a channel of its own: c-ares caches, and a record that was just published counts at once."""

    def __init__(self, servers: Iterable[tuple[str, int]] = (), *, timeout: float = 1.0, tries: int = 4) -> None:
        """Raises DnsFailed if a server is given by a name that the system cannot resolve."""
        self._servers = tuple(place for host, port in servers for place in places(host, port))
        self._timeout, self._tries = timeout, tries

    async def of(self, name: str) -> list[bytes]:
        """The TXT records of a name, the strings of each joined; none if there are none. DnsFailed or NoSocket."""
        if missing_socket():  # c-ares could not read resolv.conf, and would ask 127.0.0.1
            raise NoSocket(Failure.NO_SOCKET.words)
        try:
            channel = Channel(self._servers, self._timeout, self._tries)
        except pycares.AresError as error:  # it lacks memory or descriptors
            raise NoSocket(Failure.NO_SOCKET.words) from error
        try:
            records, number = await channel.ask(name, pycares.QUERY_TYPE_TXT)
        finally:
            channel.close()
        failure = FAILURES.get(number, Failure.BAD_ANSWER) if number else None
        if failure is Failure.NO_SOCKET:
            raise NoSocket(failure.words)
        if failure is not None and failure not in EMPTY:
            raise DnsFailed(f"{name}: {failure.words}")
        return [record.data.data for record in records if isinstance(record.data, pycares.TXTRecordData)]
