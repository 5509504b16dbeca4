"""Hosts that need no query: literal addresses, and what cannot be a name."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

from webcrawl.net.dns_answer import Answer, Failure

LONGEST_NAME = 253  # RFC 1035 2.3.4, as text
# The URL Standard's "ends in a number": such a host is an IPv4 address or invalid. Some resolvers would read 0x7f.1 as
# 127.0.0.1.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)", re.DOTALL).fullmatch
_LABELS = re.compile(r"[^.]{1,63}(?:\.[^.]{1,63})*", re.DOTALL).fullmatch


def known_without_asking(host: str) -> Answer | None:
    """The answer for an address in the URL Standard's spelling or an invalid name; None if a query is needed."""
    if ":" in host or _NUMBER(host):
        return _literal(host)
    if len(host) > LONGEST_NAME or not host.isascii() or not _LABELS(host):
        return Answer(failure=Failure.BAD_NAME)
    return None


def _literal(host: str) -> Answer:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return Answer(failure=Failure.BAD_NAME)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return Answer(failure=Failure.BAD_NAME)
    return Answer((str(address),), float("inf"))
