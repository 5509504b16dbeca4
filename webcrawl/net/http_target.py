"""Parses an HTTP URL into what a connection and a request line need."""

from __future__ import annotations

import re
from typing import NamedTuple

from webcrawl.net.authority import AUTHORITY
from webcrawl.net.errors import BadUrl

# Printable ASCII only: no CR, LF, NUL or space can reach the request line.
_URL = re.compile(
    r"([Hh][Tt][Tt][Pp][Ss]?)://"
    rf"{AUTHORITY}"
    r"(/[!-\"$->@-~]*)?(\?[!-\"$-~]*)?"  # printable without # and, in the path, without ?
    r"(?:#.*)?",
    re.DOTALL,
)
_PORTS = {"http": 80, "https": 443}


class Target(NamedTuple):
    """Where to connect and what to request; userinfo and fragment are never sent."""

    secure: bool
    host: str  # a name or a literal address, without brackets
    port: int
    authority: str  # the Host header
    path: str  # and query: the request line's origin-form


def parse_target(url: str) -> Target:
    """Parse an absolute http or https URL; raises BadUrl."""
    match = _URL.fullmatch(url)
    if match is None:
        raise BadUrl(f"not a URL that can be requested: {url[:200]!r}")
    scheme, host, digits, path, query = match.groups()
    scheme, host = scheme.lower(), host.lower()
    port = int(digits) if digits else _PORTS[scheme]
    if not 0 < port < 65536:
        raise BadUrl(f"no such port: {port}")
    authority = host if port == _PORTS[scheme] else f"{host}:{port}"
    return Target(scheme == "https", host.strip("[]"), port, authority, (path or "/") + (query or ""))
