"""Who asks: the address by which strangers are told apart."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address

OWN_BITS = 64  # of an IPv6 address: whoever has one has all that share these


def asker(peer: str, forwarded: str = "") -> str:
    """The address of a connection, or the one that a web server on this machine says it speaks for.

    `forwarded`: X-Forwarded-For. Its last part is that server's word, what stands before it is the stranger's. From any
    other machine none of it counts.
    """
    address = ip_address(peer.partition("%")[0])
    if address.is_loopback:
        try:
            address = ip_address(forwarded.rpartition(",")[2].strip())
        except ValueError:
            return str(address)
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped is not None else str(IPv6Network((int(address), OWN_BITS), strict=False))
    return str(address)
