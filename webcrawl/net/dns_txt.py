"""Asks name servers for the texts that a zone publishes under a name."""

from __future__ import annotations

from collections.abc import Iterable

import pycares

from webcrawl.net.dns_answer import Failure
from webcrawl.net.dns_cares import FAILURES, places
from webcrawl.net.dns_channel import Channel
from webcrawl.net.dns_names import EMPTY
from webcrawl.net.errors import DnsFailed, NoSocket
from webcrawl.net.shortage import missing_socket


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
