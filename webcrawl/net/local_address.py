"""Addresses of this machine that connections may come from."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any

from webcrawl.net.protocols import Bind


def local_address(value: Any) -> Bind:
    """The address as `bindaddress` has it: text, or a pair with port 0; raises ValueError with the reason."""
    host, port = value if isinstance(value, list | tuple) and len(value) == 2 else (value, 0)
    if port:
        raise ValueError("a port of one's own serves only one connection: it must be 0")
    address = ip_address(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        raise ValueError(f"{address} is no address of this machine: {error.strerror}") from error
    return str(address), 0
