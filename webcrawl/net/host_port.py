"""Host and port: the part of a URL between scheme and path."""

from __future__ import annotations

import re

from webcrawl.net.errors import BadUrl

# Printable ASCII only. Userinfo is never sent: the crawl is anonymous.
_USERINFO = r"[!\"$-.0->@-\[\]-~]*@"
_HOST = r"\[[0-9A-Fa-f:.]+\]|[!\"$-.0-9;->A-Z^-~]+"

AUTHORITY = rf"(?:{_USERINFO})?({_HOST})(?::([0-9]{{0,5}}))?"
"""Its two groups are the host and the port."""
LINE_BREAKING = re.compile(rb"[\r\n\0]")
"""In a name or selector these would end the line sent and begin another."""


def host_port(host: str, port: int) -> str:
    """`host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def queryless(scheme: str) -> re.Pattern[str]:
    """URLs of a scheme that has no query: a `?` is part of the path."""
    return re.compile(rf"(?i:{scheme})://{AUTHORITY}(/[!-\"$-~]*)?(?:#.*)?", re.DOTALL | re.ASCII)


def host_port_path(url: str, pattern: re.Pattern[str], default: int) -> tuple[str, int, str]:
    """Host, port and path without its first `/` of a URL that `queryless` matches; raises BadUrl."""
    match = pattern.fullmatch(url)
    if match is None:
        raise BadUrl(f"not a URL that can be requested: {url[:200]!r}")
    host, digits, path = match.groups()
    port = int(digits) if digits else default
    if not 0 < port < 65536:
        raise BadUrl(f"no such port: {port}")
    return host.lower().strip("[]"), port, (path or "/")[1:]
