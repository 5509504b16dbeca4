"""Connections kept open because their host is due again soon."""

from __future__ import annotations

import asyncio

from webcrawl.net.connection import Connection

Key = tuple[object, ...]  # secure, host, port; then the way there, if it is not the usual one

_SWEEP = 1.0  # seconds between checks for expired connections: one timer for all instead of one per connection


class ConnectionPool:
    """Keeps connections, at most `limit` in all; the oldest is evicted.

    A server has as many as it has requests at once: one, but for those that HOST_CONNECTIONS names.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: dict[Key, list[tuple[Connection, float]]] = {}  # in the order in which their lists began
        self._count = 0
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def take(self, key: Key) -> Connection | None:
        """The connection kept last to this server of those that are still open."""
        kept = self._kept.get(key)
        while kept:
            connection, _ = kept.pop()
            self._count -= 1
            if not kept:
                del self._kept[key]
            if connection.open:
                return connection
        return None

    def keep(self, key: Key, connection: Connection, seconds: float) -> None:
        """Keep a connection for at most this long."""
        if self.limit <= 0:
            connection.abort()
            return
        if self._count >= self.limit:
            self._evict()
        loop = asyncio.get_running_loop()
        self._kept.setdefault(key, []).append((connection, loop.time() + seconds))
        self._count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(_SWEEP, self._sweep)

    def _evict(self) -> None:
        key = next(iter(self._kept))
        oldest = self._kept[key]
        oldest.pop(0)[0].abort()
        self._count -= 1
        if not oldest:
            del self._kept[key]

    def give_up(self) -> None:
        """Close all idle connections: somebody else needs their descriptors."""
        for kept in self._kept.values():
            for connection, _ in kept:
                connection.abort()
        self._kept.clear()
        self._count = 0

    def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self.give_up()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for key, kept in list(self._kept.items()):
            alive = [(connection, until) for connection, until in kept if connection.open and until > now]
            if len(alive) == len(kept):
                continue
            for connection, until in kept:
                if not connection.open or until <= now:
                    connection.abort()
            self._count -= len(kept) - len(alive)
            if alive:
                self._kept[key] = alive
            else:
                del self._kept[key]
        self._sweeper = loop.call_later(_SWEEP, self._sweep) if self._kept else None
