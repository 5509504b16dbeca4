"""Connections kept open because their host is due again soon."""

from __future__ import annotations

import asyncio

from webcrawl.net.connection import Connection

Key = tuple[object, ...]  # secure, host, port; then the way there, if it is not the usual one

_SWEEP = 1.0  # seconds between checks for expired connections: one timer for all instead of one per connection


class ConnectionPool:
    """Keeps one connection per server, at most `limit` in all; the oldest is evicted."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: dict[Key, tuple[Connection, float]] = {}  # in the order of insertion
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: Key) -> Connection | None:
        """The connection kept to this server, if it is still open."""
        connection, _ = self._kept.pop(key, (None, 0.0))
        return connection if connection is not None and connection.open else None

    def keep(self, key: Key, connection: Connection, seconds: float) -> None:
        """Keep a connection for at most this long."""
        if self.limit <= 0:
            connection.abort()
            return
        if key in self._kept or len(self._kept) >= self.limit:
            oldest, _ = self._kept.pop(key if key in self._kept else next(iter(self._kept)))
            oldest.abort()
        loop = asyncio.get_running_loop()
        self._kept[key] = (connection, loop.time() + seconds)
        if self._sweeper is None:
            self._sweeper = loop.call_later(_SWEEP, self._sweep)

    def give_up(self) -> None:
        """Close all idle connections: somebody else needs their descriptors."""
        for connection, _ in self._kept.values():
            connection.abort()
        self._kept.clear()

    def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self.give_up()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for key, (connection, until) in list(self._kept.items()):
            if not connection.open or until <= now:
                del self._kept[key]
                connection.abort()
        self._sweeper = loop.call_later(_SWEEP, self._sweep) if self._kept else None
