"""The idle connections of an HTTP client, and the deadlines of those in use."""

from __future__ import annotations

import asyncio

from webcrawl.net.connection import HttpConnection
from webcrawl.net.protocols import Clock, FetchLimits
from webcrawl.net.shortage import LATENESS_TOLERATED

Key = tuple[object, ...]  # secure, host, port; then the way there, if it is not the usual one

UNKEPT = 3600.0  # seconds in which none is kept to a server that did not answer on one
MOST_UNKEPT = 10_000  # servers that are remembered
# Seconds between checks for expired connections: one timer for all instead of one per connection. A
# check looks at all that are kept, 1.4 us for each, as they are not in the processor's caches:
# 6,000 take 8 ms.
_SWEEP = 5.0


class ConnectionPool:
    """Keeps connections, at most `limit` in all.

    A server has as many as it has requests at once: one, but for those that HOST_CONNECTIONS names.

    Without room the spare one goes that was kept first. If there is none, the new one is not kept:
    hosts have their turns about in the order in which they were requested, so the one kept first is
    the next to be used. With 3,000 hosts, dropping the oldest served 26 requests on a kept
    connection, and this rule 2,676 in the same room.

    Some servers answer one request per connection without saying so, and end it on the second, or
    fall silent. Some send more than was asked for: had it come later, it would be taken for the
    next answer. None is kept to these.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # in the order in which their lists began
        self._kept: dict[Key, list[tuple[HttpConnection, float]]] = {}
        self._spare: dict[HttpConnection, Key] = {}  # in the order in which they were kept
        self._count = 0
        self._unkept: dict[Key, float] = {}  # until when, in the order in which they were found out
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def pop_connection(self, key: Key) -> HttpConnection | None:
        """Return the open connection to this server that was kept last; None without one."""
        kept = self._kept.get(key)
        while kept:
            connection, _ = kept.pop()
            self._spare.pop(connection, None)
            self._count -= 1
            if not kept:
                del self._kept[key]
            if connection.open:
                if not connection.has_unread:
                    return connection
                # It would be taken for the next answer. It came while this process was busy.
                connection.abort()
            elif connection.unrequested:
                self.distrust(key)
        return None

    def keep(
        self, key: Key, connection: HttpConnection, seconds: float, *, spare: bool = False
    ) -> None:
        """Keep a connection for at most this long.

        `spare`: no request is known that will use it.
        """
        loop = asyncio.get_running_loop()
        is_distrusted = bool(self._unkept) and self._unkept.get(key, 0.0) > loop.time()
        if is_distrusted:
            connection.abort()
            return
        if self._count >= self.limit and not self._evict():
            connection.abort()
            return
        if spare:
            self._spare[connection] = key
        self._kept.setdefault(key, []).append((connection, loop.time() + seconds))
        self._count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(_SWEEP, self._sweep)

    def distrust(self, key: Key) -> None:
        """Close the connections to this server, and keep none for UNKEPT seconds.

        It left a request on a kept connection without an answer, or sent more than one answer.
        """
        while (connection := self.pop_connection(key)) is not None:
            connection.abort()
        self._unkept.pop(key, None)
        self._unkept[key] = asyncio.get_running_loop().time() + UNKEPT
        if len(self._unkept) > MOST_UNKEPT:
            del self._unkept[next(iter(self._unkept))]

    def _evict(self) -> bool:
        """Close the spare connection that was kept first. Return False if there is none."""
        if not self._spare or self.limit <= 0:
            return False
        spare = next(iter(self._spare))
        key = self._spare.pop(spare)
        spare.abort()
        self._count -= 1
        self._replace(key, [entry for entry in self._kept[key] if entry[0] is not spare])
        return True

    def give_up(self) -> None:
        """Close all idle connections, because other parts of the crawl need their descriptors."""
        for kept in self._kept.values():
            for connection, _ in kept:
                connection.abort()
        self._kept.clear()
        self._spare.clear()
        self._count = 0

    def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self.give_up()

    def _sweep(self) -> None:
        """Close the connections that have expired, or that the server has closed."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for key, kept in list(self._kept.items()):
            for connection, until in kept:
                # Rarely true, so servers whose connections all stay cost no call.
                if not connection.open or until <= now:
                    self._keep_only_alive(key, now)
                    break
        self._sweeper = loop.call_later(_SWEEP, self._sweep) if self._kept else None

    def _keep_only_alive(self, key: Key, now: float) -> None:
        """Drop the kept connections of a key that have ended or were kept for long enough."""
        alive: list[tuple[HttpConnection, float]] = []
        for connection, until in self._kept[key]:
            if connection.open and until > now:
                alive.append((connection, until))
                continue
            self._spare.pop(connection, None)
            self._count -= 1
            connection.abort()
        self._replace(key, alive)

    def _replace(self, key: Key, left: list[tuple[HttpConnection, float]]) -> None:
        """Keep these connections to the server, and no others; no server has an empty list."""
        if left:
            self._kept[key] = left
        else:
            del self._kept[key]


SLOW_LOOK_INTERVAL = 0.5  # seconds between two looks at an answer that comes slowly
ROUNDING = 1e-6  # seconds by which a timer may be early


class Deadlines:
    """Expires late requests, to the millisecond. A timer for each request would cost 4 us per page.

    Each request has the time of the next look at it: its deadline, or before that the time when it
    is too slow. An answer that comes gets more time with each look. All times are the clock's,
    which may stand while this process does not run; a deadline is then so much later.
    """

    def __init__(self, bounds: FetchLimits, clock: Clock) -> None:
        self._bounds = bounds
        self._clock = clock
        # next look, deadline, when the request was sent
        self._awaiting: dict[HttpConnection, tuple[float, float, float]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._at = float("inf")  # when the timer fires: no later than the first look
        self._due = 0.0  # the same, in the loop's time

    def use(self, bounds: FetchLimits) -> None:
        """Apply these limits to the following requests."""
        self._bounds = bounds

    def add(self, connection: HttpConnection, deadline: float) -> float:
        """Watch a request that is sent now, up to `deadline` in the loop's time.

        Return the clock's time.
        """
        now = self._clock()
        deadline += now - asyncio.get_running_loop().time()
        next_look = min(deadline, self._bounds.patience(now, 0))
        self._awaiting[connection] = (next_look, deadline, now)
        if next_look < self._at:
            self._look_at(next_look)
        return now

    def remove(self, connection: HttpConnection) -> None:
        """Stop watching: the request is answered or abandoned."""
        self._awaiting.pop(connection, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._at = float("inf")

    def _look_at(self, when: float) -> None:
        self.close()
        loop = asyncio.get_running_loop()
        self._at = when
        self._due = loop.time() + max(when - self._clock(), 0.0)
        self._timer = loop.call_at(self._due, self._look)

    def _look(self) -> None:
        """End each connection whose answer is too late or too slow, and set the next look."""
        now = self._clock() + ROUNDING
        # This process was busy or stopped, and what came meanwhile is not read yet: no server is
        # judged by it.
        if asyncio.get_running_loop().time() - self._due > LATENESS_TOLERATED:
            self._look_at(now + SLOW_LOOK_INTERVAL)
            return
        self._at = float("inf")
        for connection, (look, deadline, requested_at) in list(self._awaiting.items()):
            if look > now:
                continue
            # The seconds for which we did not read are our doing, and count for neither limit.
            held = connection.held
            until = min(deadline, self._bounds.patience(requested_at, connection.received)) + held
            if until > now:
                next_look = min(deadline + held, max(until, now + SLOW_LOOK_INTERVAL))
                self._awaiting[connection] = (next_look, deadline, requested_at)
            else:
                del self._awaiting[connection]
                connection.expire()
        if self._awaiting:
            self._look_at(min(look for look, _, _ in self._awaiting.values()))
