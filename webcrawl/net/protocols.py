"""What the clients of this room need of others, and what others need of a client."""

from __future__ import annotations

from typing import Protocol

from webcrawl.model import Exchange
from webcrawl.net.http_request import Headers


class Resolver(Protocol):
    """Turns a host's name into its addresses."""

    async def resolve(self, host: str) -> list[str]:
        """The host's addresses, best first and at least one; raises DnsFailed."""
        ...


class Guard(Protocol):
    """Stands before every connection."""

    def check(self, address: str, port: int) -> None:
        """Raise AddressRefused unless the crawl may connect to this address."""
        ...


class Clock(Protocol):
    """Seconds, from whatever beginning."""

    def __call__(self) -> float: ...


class ProtocolModule(Protocol):
    """Speaks one protocol (Mercator 2): a client that a download handler asks. What it has no use for it ignores."""

    async def fetch(
        self, url: str, headers: Headers = (), *, keep: float = 0.0, method: str = "GET", body: bytes = b""
    ) -> Exchange:
        """The answer, whatever it is, within bounds of bytes and time; raises FetchError."""
        ...
