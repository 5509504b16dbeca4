"""A URL taken apart into what a connection and a request line need."""

from __future__ import annotations

import re
from typing import NamedTuple

from webcrawl.net.authority import AUTHORITY
from webcrawl.net.errors import BadUrl

# Printable ASCII only: no CR, LF, NUL or space can reach the request line, whoever wrote the URL.
_URL = re.compile(
    r"([Hh][Tt][Tt][Pp][Ss]?)://"
    rf"{AUTHORITY}"
    r"(/[!-\"$->@-~]*)?(\?[!-\"$-~]*)?"  # printable without # and, in the path, without ?
    r"(?:#.*)?",
    re.DOTALL,
)
_PORTS = {"http": 80, "https": 443}


class Target(NamedTuple):
    """Where to connect and what to ask for; userinfo and fragment are left out, they are never sent."""

    secure: bool
    host: str  # a name or a literal address, without brackets
    port: int
    authority: str  # the Host header
    path: str  # with the query: the request line's origin-form


def parse_target(url: str) -> Target:
    """Take an absolute http or https URL apart; raises BadUrl."""
    match = _URL.fullmatch(url)
    if match is None:
        raise BadUrl(f"not a URL that can be asked for: {url[:200]!r}")
    scheme, host, digits, path, query = match.groups()
    scheme, host = scheme.lower(), host.lower()
    port = int(digits) if digits else _PORTS[scheme]
    if not 0 < port < 65536:
        raise BadUrl(f"no such port: {port}")
    authority = host if port == _PORTS[scheme] else f"{host}:{port}"
    return Target(scheme == "https", host.strip("[]"), port, authority, (path or "/") + (query or ""))
