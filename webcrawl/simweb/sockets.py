"""Listening sockets, on loopback addresses only.

A socket bound to 0.0.0.0 could be reached from outside, so each address is bound separately. Linux answers on all of
127.0.0.0/8; other systems have only 127.0.0.1, and so has the synthetic web there.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence

TRIES = 20
BACKLOG = 2048


def listen(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """A TCP socket on each address, all with the same port; port 0 is any port that is free on all of them."""
    for attempt in range(TRIES):
        opened: list[socket.socket] = []
        try:
            for address in addresses:
                opened.append(_bound(address, opened[0].getsockname()[1] if opened else port, socket.SOCK_STREAM))
                opened[-1].listen(BACKLOG)
        except OSError as error:
            close(opened)
            if port or error.errno != errno.EADDRINUSE or attempt + 1 == TRIES:
                raise
        else:
            return opened
    raise AssertionError  # the last attempt has raised


def listen_both(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket with the same port."""
    for attempt in range(TRIES):
        udp = _bound(address, port, socket.SOCK_DGRAM)
        try:
            return udp, listen([address], udp.getsockname()[1])[0]
        except OSError:
            udp.close()
            if port or attempt + 1 == TRIES:
                raise
    raise AssertionError  # the last attempt has raised


def close(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()


def _bound(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    try:
        if kind is socket.SOCK_STREAM:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setblocking(False)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made
