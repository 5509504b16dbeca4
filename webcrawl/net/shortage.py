"""The resources that this process may lack: descriptors, ports, memory for sockets, and time.

`room` says how many connections fit; Shortage pauses new ones; `until` blames no server for a
deadline noticed late; RunningClock stands while this process does not run.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from webcrawl.base.doubling import DoublingWait
from webcrawl.net.errors import NoSocket, Untried

logger = logging.getLogger(__name__)

# Seconds by which we may notice a deadline too late for want of our own time. After more, no server
# is judged by it.
LATENESS_TOLERATED = 1.0


class until:  # noqa: N801 - it reads as asyncio.timeout_at
    """Like asyncio.timeout_at, but Untried if the deadline was noticed late.

    What came meanwhile is not read yet then.

    No generator: a new host has three of these, and each would cost 20 calls more.
    """

    __slots__ = ("_deadline", "_limit")

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._limit = asyncio.timeout_at(deadline)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the time limit; a time-out is judged, as it may be this machine's doing."""
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as over:
            self._judge(over)
            raise
        if isinstance(error, TimeoutError):
            self._judge(error)

    def _judge(self, error: TimeoutError) -> None:
        late = asyncio.get_running_loop().time() - self._deadline
        if late > LATENESS_TOLERATED:
            raise Untried(f"this process was busy or stopped for {late:.1f} s") from error


# What else a crawl may open after its start: three descriptors for crawl.db and three for the copy
# of its log, one for a file that is synced, the archive and the logs (4), the runs of both seen
# stores, replaced ones included until the next checkpoint (50), their scratch files (10), seed
# lists (2), sockets of c-ares (10), and some for pipelines.
OTHERS = 100


MOST_CONNECTIONS_KEPT = 1000  # connections kept for hosts that wait: over TLS each takes 45 KB


@dataclass(frozen=True, slots=True)
class ConnectionRoom:
    """Connections that fit below the limit."""

    fetches: int  # at once
    kept: int  # idle


def raise_limit() -> int:
    """Raise this process's limit of open files as far as the system allows, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError) as error:  # macOS: the hard limit is none, and cannot be had
            logger.info("the limit on open files stays at %d: %s", soft, error)
        else:
            logger.info("the limit on open files was raised from %d to %d", soft, hard)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if limit == resource.RLIM_INFINITY else limit


def in_use() -> int:
    """Return the number of descriptors that are open now."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


def worth_keeping(queues: int, fetches: int, factor: float) -> int:
    """Return the number of idle connections that are worth having.

    If hosts wait for `factor` times as long as their last answer took, so many of them wait for
    each that is asked. In a crawl that does not wait, there is one for each host of the rotation,
    as the frontier has it at least.
    """
    return max(queues, min(int(factor * fetches), MOST_CONNECTIONS_KEPT))


def room(limit: int, used: int, fetches: int, kept: int) -> ConnectionRoom:
    """Fit the wanted fetches and kept connections below the limit.

    `fetches` = 0 wants as many as possible.

    Fetches come first, but leave an eighth to kept connections. With a very low limit the crawl's
    other files get half.
    """
    free = max(limit - used, 0)
    sockets = free - min(OTHERS, free // 2)
    most = max(sockets - min(kept, sockets // 8), 1)
    fetches = min(fetches or most, most)
    return ConnectionRoom(fetches, max(min(kept, sockets - fetches), 0))


# seconds of a pause; it is doubled as long as no connection opens after it
SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
QUIET = 10.0  # seconds without a further pause after which the shortage is over
_NO_MEMORY = "MALLOC_FAILURE"  # OpenSSL's reason, in an ssl.SSLError
_UNREACHABLE = frozenset(
    (errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL)
)
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Shortage:
    """A local lack of sockets.

    A request that gets NoSocket is tried again after the pause, and counts against no host.
    """

    def __init__(self) -> None:
        self.is_pausing = False
        self.opened = False  # whether a connection opened since the last pause
        self.on_pause: Callable[[], None] = lambda: None  # gives up idle connections
        self.on_end: Callable[[], None] = lambda: None
        self.count = 0  # pauses so far
        self._pause = DoublingWait(SHORTEST_PAUSE, LONGEST_PAUSE)
        self._timer: asyncio.TimerHandle | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def begins(self, why: object) -> NoSocket:
        """Start a pause unless there is one, and return the error to raise."""
        if not self.is_pausing:
            if not self._pause.last:  # no shortage until now
                logger.warning(
                    "this machine has no socket for another connection (%s): new connections wait",
                    why,
                )
            if self.opened:
                self._pause.reset()
            self.is_pausing = True
            self.opened = False
            self.count += 1
            self._after(self._pause.next(), self._end)
            self.on_pause()
        return NoSocket(str(why))

    async def end(self) -> None:
        """Wait while there is a pause."""
        while self.is_pausing:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.is_pausing:
            self._end(last=True)

    def _end(self, *, last: bool = False) -> None:
        self.is_pausing = False
        if not last:
            self._after(QUIET, self._over)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.on_end()

    def _over(self) -> None:
        # No request has got a socket since the last pause, or none has tried.
        if not self.opened:
            self._after(QUIET, self._over)
            return
        self._pause.reset()
        logger.info("this machine has sockets again")

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, call)


def is_ours(error: OSError) -> bool:
    """Return whether this error says that our own machine lacks something."""
    return error.errno in _OURS or getattr(error, "reason", None) == _NO_MEMORY


def port_lacks(error: OSError, address: str, port: int) -> bool:
    """Return whether this error of a connection means that all local ports are in use.

    An address that no address of ours can reach (IPv6 without IPv6) has the same error number.
    Connecting a UDP socket tells them apart: it sends nothing, and has ports of its own.
    """
    if error.errno != errno.EADDRNOTAVAIL:
        return False
    failed = _probed(address, port)
    return failed is None or is_ours(failed)


def lacks_route(error: OSError, address: str, port: int) -> bool:
    """Return whether this error of a connection means that this machine has no route there.

    A router far away may answer the same. Connecting a UDP socket, which sends nothing, asks this
    machine alone.
    """
    if error.errno not in _UNREACHABLE:
        return False
    failed = _probed(address, port)
    return failed is not None and failed.errno in _UNREACHABLE


def _probed(address: str, port: int) -> OSError | None:
    try:
        with socket.socket(
            socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM
        ) as probe:
            probe.connect((address, port))
    except OSError as error:
        return error
    return None


def missing_socket() -> OSError | None:
    """Return why no socket can be opened right now, or None.

    It is for libraries that do not say why they failed.
    """
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        return error if is_ours(error) else None
    return None


BEAT_INTERVAL = 1.0  # seconds between two beats, at most
# seconds without a beat or a look at the clock, after which the process did not run in between
STOP_GAP = 2.0
STOPS_REMEMBERED = 64  # stops that are remembered: no download outlasts as many


class RunningClock:
    """Seconds of `time.monotonic`, without those in which the process did not run.

    The event loop has to call `beat` every BEAT_INTERVAL seconds. Without a first beat, and after `stop`, no
    second is left out.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._lost = 0.0  # seconds that were left out so far
        self._last = 0.0  # when the process was last seen to run, in seconds of this clock
        self._beats = False
        # when each ended, by `steady`, and its seconds
        self._stops: deque[tuple[float, float]] = deque(maxlen=STOPS_REMEMBERED)

    def __call__(self) -> float:
        """Return the seconds that this process has run; when it was stopped does not count."""
        steady = self._steady()
        now = steady - self._lost
        if now - self._last > STOP_GAP and self._beats:
            # a stop may have begun right before the next beat: hosts get this second
            lost = now - self._last - BEAT_INTERVAL
            self._lost += lost
            self._stops.append((steady, lost))
            now -= lost
        self._last = now
        return now

    def beat(self) -> None:
        """Show that the process runs."""
        if not self._beats:
            self._last = self._steady() - self._lost
            self._beats = True
        self()

    def stop(self) -> None:
        """Leave nothing out any more: there will be no further beat."""
        self()
        self._beats = False

    def lost_since(self, begun: float) -> float:
        """Return the seconds in which the process did not run since then.

        `begun` is by `time.monotonic`.
        """
        self()
        return sum(lost for ended, lost in self._stops if ended > begun)
