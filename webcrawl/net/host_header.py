"""Checks that a request's Host header names this server: another site's page can lead its name here (DNS rebinding).

Browsers let that page read the answers then, because to them it is its own server.
"""

from __future__ import annotations

import ipaddress


def split(header: str) -> tuple[str, int | None]:
    """Name and port of a Host header; a port that is none is not ours."""
    name, colon, port = header.lower().rpartition(":")
    if not colon or header.endswith("]"):
        name, port = header.lower(), "80"
    name = name.removeprefix("[").removesuffix("]")
    return name, int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else None


def is_ours(name: str, bound: str) -> bool:
    """Return whether this can be the name of a server on the address `bound`: none that anybody can register."""
    if name in ("localhost", bound):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(bound)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
