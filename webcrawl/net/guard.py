"""Checks each address just before connecting, whatever led there (docs/network-inside.md#names)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from webcrawl.net.errors import AddressRefused


@dataclass(frozen=True, slots=True)
class AddressBlock:
    """A block of numeric addresses whose masked bits equal `bits`.

    To look an address up takes 0.1 us, with `ipaddress` 3 us.
    """

    bits: int
    mask: int
    name: str

    def __contains__(self, number: int) -> bool:
        return number & self.mask == self.bits


def network(text: str, name: str = "") -> AddressBlock:
    """Parse CIDR notation. Raise ValueError."""
    found = ip_network(text)
    return AddressBlock(int(found.network_address), int(found.netmask), name)


# IANA's special-purpose registries, not `ipaddress.is_global`: that has changed between Python's
# patch releases
SPECIAL4 = [
    network("0.0.0.0/8", "this network"),
    network("10.0.0.0/8", "private"),
    network("100.64.0.0/10", "shared by a carrier's customers"),
    network("127.0.0.0/8", "loopback"),
    # Of a cloud, and in no registry
    network("168.63.129.16/32", "Azure's host of each virtual machine"),
    network("169.254.0.0/16", "link-local"),
    network("172.16.0.0/12", "private"),
    network("192.0.0.0/24", "protocol assignments"),
    network("192.0.2.0/24", "documentation"),
    network("192.88.99.0/24", "6to4 relays, withdrawn"),
    network("192.168.0.0/16", "private"),
    network("198.18.0.0/15", "benchmarking"),
    network("198.51.100.0/24", "documentation"),
    network("203.0.113.0/24", "documentation"),
    network("224.0.0.0/4", "multicast"),
    network("240.0.0.0/4", "reserved"),
]

UNICAST6 = network("2000::/3")  # RFC 4291 2.4: the only block assigned so far
# A network's own prefix for NAT64 cannot be recognised (docs/network-inside.md#the-guard).
NAT64 = network("64:ff9b::/96")
SIX_TO_FOUR = network("2002::/16")
TEREDO = network("2001::/32")
# RFC 5214 6.1: before an IPv4 address, whatever the prefix
ISATAP = frozenset((0x0000_5EFE, 0x0200_5EFE))
SPECIAL6 = [
    network("::/128", "unspecified"),
    network("::1/128", "loopback"),
    # Whatever its IPv4 address: the operator has to list this block to open it
    network("::ffff:0:0/96", "IPv4-mapped"),
    network("64:ff9b:1::/48", "local translation"),
    network("100::/64", "discarded"),
    network("2001::/23", "protocol assignments"),
    network("2001:db8::/32", "documentation"),
    network("3fff::/20", "documentation"),
    network("5f00::/16", "segment routing"),
    network("fc00::/7", "unique local"),
    network("fe80::/10", "link-local"),
    network("fec0::/10", "site-local"),
    network("ff00::/8", "multicast"),
]


NO_ADDRESS = "not an address"
_LAST = 0xFFFF_FFFF  # the bits of an IPv4 address at the end of another


class AddressGuard:
    """Allows global unicast addresses and those in the networks `allowed`.

    Caches the verdicts of the last `size` addresses: one costs 5 to 10 us.
    """

    def __init__(self, allowed: Iterable[str] = (), *, size: int = 2**16) -> None:
        self.allowed = tuple(allowed)
        networks = [(ip_network(text).version, network(text)) for text in self.allowed]
        self._allowed4 = [found for version, found in networks if version == 4]
        self._allowed6 = [found for version, found in networks if version == 6]
        self._reason = lru_cache(size)(self._examine)

    def check(self, address: str, port: int) -> None:
        """Raise AddressRefused unless the crawl may connect to this address."""
        reason = self._reason(address)
        if reason:
            error = AddressRefused(f"{address} port {port}: {reason}")
            error.address = address
            error.reason = reason
            error.allowed = self.allowed
            raise error

    def reason(self, address: str) -> str:
        """Return the kind of address that it is if the crawl may not connect to it; else empty."""
        return self._reason(address)

    def admits(self, address: str) -> bool:
        return not self._reason(address)

    def _examine(self, text: str) -> str:
        """Return why the address is refused; empty if it is allowed."""
        try:
            address = ip_address(text)
        except ValueError:
            return NO_ADDRESS
        if isinstance(address, IPv4Address):
            return self._examine4(int(address))
        # A zone (`%eth0`) names an interface of this machine
        if address.scope_id is not None:
            return "bound to one interface"
        return self._examine6(address)

    def _examine4(self, number: int) -> str:
        if any(number in allowed for allowed in self._allowed4):
            return ""
        return next((special.name for special in SPECIAL4 if number in special), "")

    def _examine6(self, address: IPv6Address) -> str:
        """Return why an IPv6 address may not be connected to; empty if it may.

        IPv4 addresses within it are examined, too.
        """
        number = int(address)
        if any(number in allowed for allowed in self._allowed6):
            return ""
        translated = _translated(number)
        wrapped = [*translated]
        # Judged by its prefix and by the IPv4 address at its end: it may lead to either
        if number >> 32 & _LAST in ISATAP:
            wrapped.append(number & _LAST)
        for inner in wrapped:
            if reason := self._examine4(inner):
                return f"wraps {IPv4Address(inner)}: {reason}"
        # The packets reach the IPv4 address, which is allowed.
        if translated:
            return ""
        return _kind6(number)


def special_network(text: str) -> str:
    """Return the network for which an address is refused, in CIDR notation.

    It is the address alone if no network is.
    """
    address = ip_address(text)
    for special in SPECIAL4 if isinstance(address, IPv4Address) else SPECIAL6:
        if int(address) in special:
            return f"{type(address)(special.bits)}/{special.mask.bit_count()}"
    return f"{address}/{address.max_prefixlen}"


def _kind6(number: int) -> str:
    """Return the kind of an IPv6 address that no crawl should ask; empty for a global unicast one."""
    for special in SPECIAL6:
        if number in special:
            return special.name
    return "" if number in UNICAST6 else "not global unicast"


def _translated(number: int) -> list[int]:
    """Return the IPv4 addresses to which a translator or tunnel forwards packets for this one."""
    if number in NAT64:  # RFC 6052 2.2: the last 32 bits
        return [number & _LAST]
    if number in SIX_TO_FOUR:  # RFC 3056 2: after the first 16 bits
        return [number >> 80 & _LAST]
    if number in TEREDO:  # RFC 4380 4: the server, and the client with its bits inverted
        return [number >> 64 & _LAST, ~number & _LAST]
    return []
