"""Asks name servers for the names of addresses, and for all addresses of a name."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

import pycares

from webcrawl.net.dns_answer import Failure
from webcrawl.net.dns_cares import FAILURES, places
from webcrawl.net.dns_channel import Channel
from webcrawl.net.errors import DnsFailed

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
