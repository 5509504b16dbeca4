"""A port of the crawl's own, for whoever asks it something."""

from __future__ import annotations

import socket
from ipaddress import ip_address

BACKLOG = 64


class CannotListen(OSError):  # noqa: N818 - reads as what it is
    """Nobody can reach us there; the message is one line."""


def bound(host: str, port: int, setting: str) -> socket.socket:
    """A socket that listens. Raises CannotListen, which names the setting."""
    family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
    listener = None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection of the last run may linger
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise CannotListen(f"{setting}: cannot listen on {host}, port {port}: {error.strerror or error}") from error
    return listener
