"""Pauses all new connections while this machine lacks what they need: descriptors, ports, memory for sockets."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from webcrawl.net.errors import NoSocket

logger = logging.getLogger(__name__)

SHORTEST, LONGEST = 0.05, 5.0  # seconds of a pause; it is doubled as long as no connection opens after it
QUIET = 10.0  # seconds without a further pause after which the shortage is over
_NO_MEMORY = "MALLOC_FAILURE"  # OpenSSL's reason, in an ssl.SSLError
_UNREACHABLE = frozenset((errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL))
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Shortage:
    """Nobody's fault but ours: whoever gets NoSocket tries again after the pause, and charges no host."""

    def __init__(self) -> None:
        self.paused = False
        self.opened = False  # whether a connection opened since the last pause
        self.on_pause: Callable[[], None] = _nothing  # gives up idle connections
        self.on_end: Callable[[], None] = _nothing
        self.count = 0  # pauses so far
        self._seconds = 0.0  # of the last pause; 0: there is no shortage
        self._timer: asyncio.TimerHandle | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def __repr__(self) -> str:
        return f"<Shortage paused={self.paused} seconds={self._seconds} count={self.count}>"

    def begins(self, why: object) -> NoSocket:
        """Starts a pause unless there is one; returns the error to raise."""
        if not self.paused:
            if not self._seconds:
                logger.warning("this machine has no socket for another connection (%s): new ones wait", why)
            self._seconds = min(2 * self._seconds, LONGEST) if self._seconds and not self.opened else SHORTEST
            self.paused, self.opened = True, False
            self.count += 1
            self._after(self._seconds, self._end)
            self.on_pause()
        return NoSocket(str(why))

    async def end(self) -> None:
        """Waits while there is a pause."""
        while self.paused:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def close(self) -> None:
        """Ends the pause."""
        if self._timer is not None:
            self._timer.cancel()
        if self.paused:
            self._end(last=True)

    def _end(self, *, last: bool = False) -> None:
        self.paused = False
        if not last:
            self._after(QUIET, self._over)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.on_end()

    def _over(self) -> None:
        self._seconds = 0.0
        logger.info("this machine has sockets again")

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, call)


def is_ours(error: OSError) -> bool:
    """Whether this error says that our own machine lacks something."""
    return error.errno in _OURS or getattr(error, "reason", None) == _NO_MEMORY


def port_lacks(error: OSError, address: str, port: int) -> bool:
    """Whether this error of a connection to the address means that all local ports are in use.

    An address that no address of ours can reach (IPv6 without IPv6) has the same error number. Connecting a UDP socket
    tells them apart: it sends nothing, and has ports of its own.
    """
    if error.errno != errno.EADDRNOTAVAIL:
        return False
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, port))
    except OSError as failed:
        return is_ours(failed)
    return True


def lacks_route(error: OSError, address: str, port: int) -> bool:
    """Whether this error of a connection to the address means that this machine has no route there.

    A router far away may answer the same. Connecting a UDP socket, which sends nothing, asks this machine alone.
    """
    if error.errno not in _UNREACHABLE:
        return False
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, port))
    except OSError as failed:
        return failed.errno in _UNREACHABLE
    return False


def missing_socket() -> OSError | None:
    """Why no socket can be opened right now, or None: for libraries that do not say why they failed."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        return error if is_ours(error) else None
    return None


def _nothing() -> None:
    pass
