"""The blocks of IANA's special-purpose address registries that a crawler must not enter (RFC 6890, RFC 8190).

Those have the metadata services of clouds (169.254.169.254, 100.100.100.200, fd00:ec2::254), except one of Azure's.
Written out because `ipaddress.is_global` has changed between Python's patch releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network


@dataclass(frozen=True, slots=True)
class Network:
    """A numeric address is in it if its masked bits equal `bits`: 0.1 us, where `ipaddress` takes 3."""

    bits: int
    mask: int
    name: str

    def __contains__(self, number: int) -> bool:
        return number & self.mask == self.bits


def network(text: str, name: str = "") -> Network:
    """Parses CIDR notation; raises ValueError."""
    found = ip_network(text)
    return Network(int(found.network_address), int(found.netmask), name)


SPECIAL4 = [
    network("0.0.0.0/8", "this network"),
    network("10.0.0.0/8", "private"),
    network("100.64.0.0/10", "shared by a carrier's customers"),
    network("127.0.0.0/8", "loopback"),
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
NAT64 = network("64:ff9b::/96")
SIX_TO_FOUR = network("2002::/16")
TEREDO = network("2001::/32")
ISATAP = frozenset((0x0000_5EFE, 0x0200_5EFE))  # RFC 5214 6.1: before an IPv4 address, whatever the prefix
SPECIAL6 = [
    network("::/128", "unspecified"),
    network("::1/128", "loopback"),
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
