"""A c-ares channel on the event loop's sockets and timer, without a thread."""

from __future__ import annotations

import asyncio
from functools import partial

import pycares

from webcrawl.net.shortage import missing_socket

NO_SOCKET = -1  # as an error number, beside those of c-ares
# Errors of c-ares that may have been caused by a socket that could not be opened; it does not say which were.
UNCLEAR = frozenset((pycares.errno.ARES_ECONNREFUSED, pycares.errno.ARES_ETIMEOUT, pycares.errno.ARES_EFILE))
TICK = 0.1  # seconds between checks of c-ares' timeouts while queries are open
BUFFER = 1 << 20  # bytes of answers that the kernel keeps for us while we are busy; the system may allow less

Result = tuple[list[pycares.DNSRecord], int]
"""The answer section, and c-ares' error number, NO_SOCKET or 0."""


class Channel:
    """Queries by UDP; c-ares repeats them by TCP if the answer is truncated.

    A query costs 52 us CPU in the loop, 60 through the library's event thread (which aiodns uses).
    """

    def __init__(self, servers: tuple[str, ...], timeout: float, tries: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: set[asyncio.Future[Result]] = set()
        self._sockets: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._last = False  # close after the last answer
        self.closed = False
        self.asked = 0
        self._ares = pycares.Channel(
            servers=servers or None,
            timeout=timeout,
            tries=tries,
            sock_state_cb=self._socket_state,
            socket_receive_buffer_size=BUFFER,
        )

    def __repr__(self) -> str:
        return f"<Channel asked={self.asked} open={len(self._open)}>"

    @property
    def servers(self) -> str:
        """The name servers it queries."""
        return ", ".join(self._ares.servers)

    def ask(self, name: str, qtype: int) -> asyncio.Future[Result]:
        """Start a query; failures are in the result, the future never raises."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._open.add(future)
        self.asked += 1
        try:
            self._ares.query(name, qtype, callback=partial(self._answered, future))
        except ValueError:  # a name that c-ares cannot encode
            self._answered(future, None, pycares.errno.ARES_EBADNAME)
        except pycares.AresError as error:  # it may have called back before
            self._answered(future, None, error.args[0])
        if self._timer is None and self._open:
            self._timer = self._loop.call_later(TICK, self._tick)
        return future

    def _answered(self, future: asyncio.Future[Result], result: pycares.DNSResult | None, error: int | None) -> None:
        self._open.discard(future)
        if not future.done():  # the caller may have been cancelled
            if error in UNCLEAR and missing_socket():
                error = NO_SOCKET
            future.set_result((result.answer if result else [], error or 0))
        if self._last and not self._open:
            self._loop.call_soon(self.close)  # not from inside c-ares' callback

    def _tick(self) -> None:
        """Has c-ares look at the time; before that at what came while this process was busy, which is no time-out."""
        self._timer = None
        for fd in tuple(self._sockets):
            if fd in self._sockets:
                self._ares.process_read_fd(fd)
        self._ares.process_fd(pycares.ARES_SOCKET_BAD, pycares.ARES_SOCKET_BAD)
        if self._open:
            self._timer = self._loop.call_later(TICK, self._tick)

    def _socket_state(self, fd: int, readable: bool, writable: bool) -> None:  # noqa: FBT001 - c-ares' signature
        if self.closed:  # c-ares closes the last sockets in its own thread
            return
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)
        self._sockets.discard(fd)
        if readable:
            self._loop.add_reader(fd, self._ares.process_read_fd, fd)
        if writable:
            self._loop.add_writer(fd, self._ares.process_write_fd, fd)
        if readable or writable:
            self._sockets.add(fd)

    def retire(self) -> None:
        """Accept no more queries; close when none is open."""
        self._last = True
        if not self._open:
            self.close()

    def close(self) -> None:
        """Cancel open queries and close."""
        if self.closed:
            return
        self._ares.cancel()
        self.closed = True
        for fd in self._sockets:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
        if self._timer is not None:
            self._timer.cancel()
        self._ares.close()
