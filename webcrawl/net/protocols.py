"""What protocol clients are given, and what they must offer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from webcrawl.model import Exchange
from webcrawl.net.http_request import Headers
from webcrawl.net.shortage import Shortage
from webcrawl.ports import Ports


class Resolver(Protocol):
    """Resolves host names."""

    async def resolve(self, host: str) -> list[str]:
        """The host's addresses, best first and at least one; raises DnsFailed."""
        ...


class Guard(Protocol):
    """Checks the address of every connection."""

    def check(self, address: str, port: int) -> None:
        """Raise AddressRefused unless the crawl may connect to this address."""
        ...


class Clock(Protocol):
    """Seconds since some fixed time."""

    def __call__(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Access:
    """What every client connects with."""

    resolver: Resolver
    guard: Guard
    ports: Ports = field(default_factory=Ports, kw_only=True)
    connect_timeout: float = 10.0  # seconds for one address, and for a TLS handshake
    clock: Clock = time.monotonic  # measures
    now: Clock = time.time  # seconds since 1970
    shortage: Shortage = field(default_factory=Shortage, kw_only=True)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one fetch may take."""

    truncate: int = 2 * 2**20  # bytes of a decoded body
    timeout: float = 60.0  # seconds in all
    grace: float = 15.0  # seconds after the request that nothing need have come
    rate: float = 0.0  # bytes per second that must have come on average since then; 0: any

    def patience(self, asked: float, received: int) -> float:
        """When an answer is too slow, if no more comes than these bytes; `asked` is when the request was sent."""
        return asked + self.grace + received / self.rate if self.rate else float("inf")


class Source(Protocol):
    """A connection that an answer comes by."""

    @property
    def received(self) -> int:
        """Bytes of the answer so far."""
        ...


class Watch(Protocol):
    """Follows a fetch from outside: the client puts here where the answer comes from."""

    source: Source | None


class ProtocolModule(Protocol):
    """A client of one protocol (Mercator 2), used by a download handler; ignores what its protocol lacks."""

    async def fetch(
        self,
        url: str,
        headers: Headers = (),
        *,
        keep: float = 0.0,
        method: str = "GET",
        body: bytes = b"",
        watch: Watch | None = None,
    ) -> Exchange:
        """The answer, whatever its status, within bounds of bytes and time; raises FetchError."""
        ...
