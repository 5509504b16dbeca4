"""Kinds of values about the network: addresses, ports, TLS, requests at once."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from webcrawl.base.settings.setting_kinds import Whole, is_none, text, words
from webcrawl.base.url_text import host_of
from webcrawl.net.protocols import local_address
from webcrawl.net.tls import VERSIONS, tls_context
from webcrawl.urls.canonical import InvalidUrl, canonical

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


class TlsVersion:
    """The oldest or the newest version to speak."""

    allowed: str = f"one of {', '.join(VERSIONS)}, or none"

    def read(self, value: Any, /) -> str | None:
        if is_none(value):
            return None
        found = text(value)
        if found not in VERSIONS:
            raise ValueError
        return found


class Ciphers:
    """Cipher suites."""

    allowed: str = "a list of cipher suites as OpenSSL has it"

    def read(self, value: Any, /) -> str:
        found = text(value)
        try:
            _accept(found)
        except ssl.SSLError as error:
            raise ValueError(", ".join(map(str, error.args))) from error
        return found


@lru_cache(8)
def _accept(ciphers: str) -> None:
    """Half of the time that checking all settings takes, and a start checks them a dozen times."""
    tls_context(ciphers=ciphers)


OF_ONE = Whole(1, 64)
MARKS = frozenset("/?#@\\%*:= ")  # none is in a name


class HostConnections:
    """By domain or host, as sheets are; names are brought into canonical form."""

    allowed: str = "a dict, JSON object or list of NAME=NUMBER: domains or hosts, whole numbers from 1 to 64; or none"

    def read(self, value: Any, /) -> dict[str, int]:
        given = json.loads(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
        pairs = given.items() if isinstance(given, Mapping) else [_pair(word) for word in words(given)]
        rules: dict[str, int] = {}
        for name, number in pairs:
            most, host = OF_ONE.read(number), _host(text(name))
            if rules.setdefault(host, most) != most:
                raise ValueError(f"{host} is named twice")
        return rules


def _pair(word: str) -> tuple[str, str]:
    name, equals, number = word.rpartition("=")
    if not equals:
        raise ValueError(f"{word} is not NAME=NUMBER")
    return name, number


def _host(name: str) -> str:
    if MARKS.intersection(name) and not name.startswith("["):
        raise ValueError(f"{name} is neither a domain nor a host")
    try:
        host = host_of(canonical(f"http://{name}/"))
    except InvalidUrl as error:
        raise ValueError(f"{name} is neither a domain nor a host") from error
    return host.removesuffix(".")  # URLs hardly ever have the dot of DNS: a rule with it would hold for nobody
