"""Ports for servers that another process opens, or that are opened more than once."""

import atexit
import socket
from contextlib import suppress
from secrets import choice

NUMBERS = range(10_000, 30_000)  # below those that systems give to whoever connects or names none


def free_port():
    """A TCP port of 127.0.0.1 that is free, and that no other process of the tests gets.

    A UDP socket of the same number keeps it, until this process ends.
    """
    while True:
        number = choice(NUMBERS)
        keeper = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket() as tried, suppress(OSError):
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(("127.0.0.1", number))
            keeper.bind(("127.0.0.1", number))
            atexit.register(keeper.close)  # it is open until then
            return number
        keeper.close()
