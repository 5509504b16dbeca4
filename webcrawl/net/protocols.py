"""What the clients of this room need of others: names turned into addresses, and addresses let through."""

from __future__ import annotations

from typing import Protocol


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
