"""Kinds of values that are network addresses."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from webcrawl.base.settings.setting_kinds import words
from webcrawl.net.protocols import local_address
from webcrawl.urls.canonical import canonical

DNS_PORT = 53
LONGEST = 1000  # characters

_BRACKETED = re.compile(r"\[([^]]+)\](?::([0-9]+))?")
_PLAIN = re.compile(r"([^:]+)(?::([0-9]+))?")
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_NAME = re.compile(r"(?!.*\.[0-9]+$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)


class Networks:
    """Networks, by address and prefix length."""

    allowed: str = "comma-separated networks in CIDR form, such as 127.0.0.0/8,fd00::/8, or none"

    def read(self, value: Any, /) -> tuple[IPv4Network | IPv6Network, ...]:
        # strict: 10.1.2.3/8 may mean one address or sixteen million, and a wrong guess here opens private networks
        return tuple(ip_network(word) for word in words(value))


class LocalAddress:
    """The address that connections come from."""

    allowed: str = "an IP address of this machine, without a port"

    def read(self, value: Any, /) -> tuple[str, int] | None:
        return local_address(value) if value else None


class CallbackAddress:
    """The URL at which others reach this program."""

    allowed: str = "an http or https URL without query, fragment and credentials, such as https://crawl.example/websub"

    def read(self, value: Any, /) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str) or len(value) > LONGEST or set(value) & set("?#@"):
            raise ValueError
        found = canonical(value.strip())
        if not found.startswith(("http:", "https:")):
            raise ValueError
        return found.rstrip("/")


class PortRanges:
    """Ports, alone or from one to another."""

    allowed: str = "comma-separated ports from 1 to 65535 and ranges of them, such as 7071,8000-8099, or none"

    def read(self, value: Any, /) -> tuple[range, ...]:
        written = [str(one) if type(one) is int else one for one in value] if isinstance(value, list) else value
        return tuple(_range(word) for word in words(written))


class Servers:
    """Name servers, by address or name, and port."""

    allowed: str = "comma-separated host:port, such as 127.0.0.1:5353,[::1]:53, or none"

    def read(self, value: Any, /) -> tuple[tuple[str, int], ...]:
        return tuple(_server(word) for word in words(value))


def _range(word: str) -> range:
    found = _PORTS.fullmatch(word)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < first <= last < 65_536:
        raise ValueError(f"{word!r} is neither a port nor a range")
    return range(first, last + 1)


def _server(word: str) -> tuple[str, int]:
    if found := _BRACKETED.fullmatch(word):
        host = str(IPv6Address(found[1]))
    elif found := _PLAIN.fullmatch(word):
        host = found[1] if _NAME.fullmatch(found[1]) else str(ip_address(found[1]))
    else:
        return str(ip_address(word)), DNS_PORT
    port = int(found[2] or DNS_PORT)
    if not 0 < port < 65_536:
        raise ValueError(f"{word!r} has a port outside 1 to 65535")
    return host, port
