"""Checks each address just before connecting, whatever name, redirect or scheme led there (docs/dns.md)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from webcrawl.net.errors import AddressRefused
from webcrawl.net.guard_networks import ISATAP, NAT64, SIX_TO_FOUR, SPECIAL4, SPECIAL6, TEREDO, UNICAST6, network

_LAST = 0xFFFF_FFFF  # the bits of an IPv4 address at the end of another


class AddressGuard:
    """Allows global unicast addresses and those in the networks `allowed`.

    Caches the verdicts of the last `size` addresses: one costs 5 to 10 us.
    """

    def __init__(self, allowed: Iterable[str] = (), *, size: int = 2**16) -> None:
        networks = [(ip_network(text).version, network(text)) for text in allowed]
        self._allowed4 = [found for version, found in networks if version == 4]
        self._allowed6 = [found for version, found in networks if version == 6]
        self._reason = lru_cache(size)(self._examine)

    def check(self, address: str, port: int) -> None:
        """Raise AddressRefused unless the crawl may connect to this address."""
        reason = self._reason(address)
        if reason:
            raise AddressRefused(f"{address} port {port}: {reason}")

    def _examine(self, text: str) -> str:
        """Why the address is refused; empty if it is allowed."""
        try:
            address = ip_address(text)
        except ValueError:
            return "not an address"
        if isinstance(address, IPv4Address):
            return self._examine4(int(address))
        return "bound to one interface" if address.scope_id is not None else self._examine6(address)

    def _examine4(self, number: int) -> str:
        if any(number in allowed for allowed in self._allowed4):
            return ""
        return next((special.name for special in SPECIAL4 if number in special), "")

    def _examine6(self, address: IPv6Address) -> str:
        number = int(address)
        if any(number in allowed for allowed in self._allowed6):
            return ""
        translated = _translated(number)
        wrapped = [*translated, number & _LAST] if number >> 32 & _LAST in ISATAP else translated
        inside = next((f"wraps {IPv4Address(n)}: {why}" for n in wrapped if (why := self._examine4(n))), "")
        if inside or translated:
            return inside
        special = next((special.name for special in SPECIAL6 if number in special), "")
        return special or ("" if number in UNICAST6 else "not global unicast")


def _translated(number: int) -> list[int]:
    """The IPv4 addresses to which a translator or tunnel forwards packets for this IPv6 address."""
    if number in NAT64:  # RFC 6052 2.2: the last 32 bits
        return [number & _LAST]
    if number in SIX_TO_FOUR:  # RFC 3056 2: after the first 16 bits
        return [number >> 80 & _LAST]
    if number in TEREDO:  # RFC 4380 4: the server, and the client with its bits inverted
        return [number >> 64 & _LAST, ~number & _LAST]
    return []
