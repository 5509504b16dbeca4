"""The result of a DNS query, and the interface of what performs it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Failure(Enum):
    """Why a name has no address: message, whether it is permanent, seconds it is cached.

    RFC 2308 allows "no such name" to be cached for hours and a server failure for five minutes; RFC 9520 requires
    failures to be cached. 30 s is less than HOST_RETRY_WAIT, so that a host's next try queries again.
    """

    NO_NAME = ("no such name", True, 600.0)
    NO_ADDRESS = ("the name has no address", True, 600.0)
    BAD_NAME = ("not a valid DNS name", True, 600.0)
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


class Lookup(Protocol):
    """Queries a name, without caching: CachingResolver does that."""

    async def ask(self, host: str) -> Answer:
        """The answer for a lower-case name without trailing dot. Every failure is an Answer."""
        ...

    async def probe(self) -> None:
        """Raise DnsFailed, with a one-line message for the user, if no server answers at all."""
        ...

    async def check(self, host: str) -> Answer:
        """What the servers say of a name now, past any cache; addresses may be missing."""
        ...

    async def close(self) -> None:
        """Cancel pending queries and leave nothing running."""
        ...
