"""What a question about a host's name ends with, and who may be asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Failure(Enum):
    """Why a name has no address: the words for people, whether asking again is in vain, seconds it is remembered.

    RFC 2308 lets "no such name" live for hours and a server's failure for five minutes at the most; RFC 9520
    wants a failure remembered at all. 30 s are less than HOST_RETRY_WAIT, so that a host's next try asks anew.
    """

    NO_NAME = ("no such name", True, 600.0)
    NO_ADDRESS = ("the name has no address", True, 600.0)
    BAD_NAME = ("not a name that DNS could know", True, 600.0)
    SERVER_FAILED = ("the name server failed", False, 30.0)
    REFUSED = ("the name server refused", False, 30.0)
    BAD_ANSWER = ("the name server's answer makes no sense", False, 30.0)
    TIMEOUT = ("no answer from a name server", False, 30.0)
    CLOSED = ("the resolver is closed", False, 0.0)

    def __init__(self, words: str, permanent: bool, seconds: float) -> None:  # noqa: FBT001 - an enum's row
        self.words = words
        self.permanent = permanent
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """Addresses and the seconds they hold, or a failure."""

    addresses: tuple[str, ...] = ()
    ttl: float = 0.0
    failure: Failure | None = None


class Lookup(Protocol):
    """Asks for a name, without any memory of its own: that is CachingResolver's."""

    async def ask(self, host: str) -> Answer:
        """The answer for a lower-case name without the root's dot; whatever happens is an Answer."""
        ...

    async def probe(self) -> None:
        """Raise DnsFailed, with a line for the user, if nobody is there to answer any question."""
        ...

    async def close(self) -> None:
        """Give up what is still asked for and leave nothing running."""
        ...
