"""The result of a DNS query, the interface of what performs it, and the answers that need no query.

No query is needed for literal addresses, for what cannot be a name, and for the names of HOSTS_FILE.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Protocol


class Failure(Enum):
    """Why a name has no address: message, whether it is permanent, seconds it is cached.

    RFC 9520 requires failures to be cached. 30 s is less than HOST_RETRY_WAIT, so that a host's next try queries again.
    A denial is kept for less time than passes until a host is given up for it, whatever RFC 2308 allows: it may be a
    lie, and is asked for again before it counts.
    """

    NO_NAME = ("no host of that name", True, 2.0)
    NO_ADDRESS = ("the name has no address", True, 2.0)
    BAD_NAME = ("not a valid DNS name", True, 600.0)
    DENIED = ("the name servers deny this name, and names that they knew", False, 30.0)
    UNPROVEN = ("the name servers have denied all names so far, or led inside: not believed", False, 30.0)
    SERVER_FAILED = ("the name server failed", False, 30.0)
    REFUSED = ("the name server refused", False, 30.0)
    BAD_ANSWER = ("invalid answer from the name server", False, 30.0)
    TIMEOUT = ("no answer from a name server", False, 30.0)
    NO_SOCKET = ("this machine has no socket for the question", False, 0.0)
    CLOSED = ("the resolver is closed", False, 0.0)

    def __init__(self, words: str, permanent: bool, seconds: float) -> None:  # noqa: FBT001 - a row of the enum
        self.words = words
        self.permanent = permanent
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """Addresses and their TTL in seconds, or a failure."""

    addresses: tuple[str, ...] = ()
    ttl: float = 0.0
    failure: Failure | None = None
    half: bool = field(default=False, compare=False)  # of IPv4, and IPv6 was not asked for: Lookup.ask_six does


class Lookup(Protocol):
    """Queries a name, without caching: CachingResolver does that."""

    async def ask(self, host: str) -> Answer:
        """The answer for a lower-case name without trailing dot. Every failure is an Answer."""
        ...

    async def ask_six(self, host: str) -> Answer:
        """The IPv6 addresses of a name whose answer was half."""
        ...

    async def probe(self) -> None:
        """Raise DnsFailed, with a one-line message for the user, if no server answers at all."""
        ...

    async def check(self, host: str) -> Answer:
        """Ask the servers for a name now, past any cache; addresses may be missing, and are not judged then."""
        ...

    async def close(self) -> None:
        """Cancel pending queries and leave nothing running."""
        ...


LONGEST_NAME = 253  # RFC 1035 2.3.4, as text
# The URL Standard's "ends in a number": such a host is an IPv4 address or invalid. Some resolvers would read 0x7f.1 as
# 127.0.0.1.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)", re.DOTALL).fullmatch
LOOPBACK = "127.0.0.1"
_LABELS = re.compile(r"[^.]{1,63}(?:\.[^.]{1,63})*", re.DOTALL).fullmatch


def known_without_asking(host: str) -> Answer | None:
    """The answer for an address in the URL Standard's spelling, this machine's own name or an invalid one.

    None if a query is needed.
    """
    if ":" in host or _NUMBER(host):
        return _literal(host)
    if len(host) > LONGEST_NAME or not host.isascii() or not _LABELS(host):
        return Answer(failure=Failure.BAD_NAME)
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 6.3: no name server is asked
        return Answer((LOOPBACK,), float("inf"))
    return None


def _literal(host: str) -> Answer:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return Answer(failure=Failure.BAD_NAME)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return Answer(failure=Failure.BAD_NAME)
    return Answer((str(address),), float("inf"))


def read_hosts(path: Path) -> dict[str, tuple[str, ...]]:
    """Lower-case name -> its addresses in file order; ValueError names a bad line."""
    hosts: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        address, *names = line.partition("#")[0].split() or [""]
        if not address:
            continue
        try:
            address = str(ip_address(address))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: begins with no address") from error
        if not names:
            raise ValueError(f"{path}, line {number}: no name follows the address")
        for name in names:
            key = name.lower().removesuffix(".")
            hosts[key] = (*hosts.get(key, ()), address)
    return hosts
