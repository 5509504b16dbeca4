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
            number = port or _free(addresses[0])
            for address in addresses:
                opened.append(_bound(address, number, socket.SOCK_STREAM))
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
    return listen_pairs([address], port)[0]


def listen_pairs(addresses: Sequence[str], port: int) -> list[tuple[socket.socket, socket.socket]]:
    """A UDP and a TCP socket on each address, all with the same port."""
    for attempt in range(TRIES):
        streams = listen(addresses, port)
        opened: list[socket.socket] = []
        try:
            for address in addresses:
                opened.append(datagrams(address, streams[0].getsockname()[1]))  # noqa: PERF401 -- for the case of an error
        except OSError:
            close([*streams, *opened])
            if port or attempt + 1 == TRIES:
                raise
        else:
            return [*zip(opened, streams, strict=True)]
    raise AssertionError  # the last attempt has raised


def datagrams(address: str, port: int) -> socket.socket:
    return _bound(address, port, socket.SOCK_DGRAM)


def close(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()


def _free(address: str) -> int:
    """A free port. Only a socket that was bound to a port by number keeps it while it does not listen."""
    probe = _bound(address, 0, socket.SOCK_STREAM)
    number: int = probe.getsockname()[1]
    probe.close()
    return number


def _bound(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    try:
        if kind is socket.SOCK_STREAM:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setblocking(False)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made
