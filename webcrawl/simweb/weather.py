"""Keeps a server's sockets as its outages want them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from webcrawl.simweb import names
from webcrawl.simweb.doors import Door
from webcrawl.simweb.http import Connection
from webcrawl.simweb.outages import Board, State

if TYPE_CHECKING:
    from webcrawl.simweb.world import World

PATIENCE = 30.0  # seconds for the server to do what a test has asked for


class Weather:
    """`doors` are those of the hosts, `servers` those of the name servers."""

    def __init__(
        self,
        world: World,
        board: Board,
        doors: Sequence[Door],
        servers: Sequence[Door],
        connections: Iterable[Connection],
    ) -> None:
        self._world, self._board, self._doors, self._servers = world, board, doors, servers
        self._connections = connections
        self._loop, self._turn = asyncio.get_running_loop(), asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Opens the doors. From now on outages take effect, and those that are planned count from here."""
        self._board.restart()
        self._board.changed = self._changed
        await self._settle()

    def stop(self) -> None:
        self._board.changed = lambda: None
        if self._timer is not None:
            self._timer.cancel()
        for door in (*self._doors, *self._servers):
            door.close()

    def _changed(self) -> None:
        """Settles; when another thread has called, it has been done on return."""
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            self._later()
        else:
            asyncio.run_coroutine_threadsafe(self._settle(), self._loop).result(PATIENCE)

    def _later(self) -> None:
        task = self._loop.create_task(self._settle())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self) -> None:
        async with self._turn:
            seconds = self._board.next_change()  # first: what changes meanwhile must not be missed
            for door in self._doors:
                state, outage = self._board.of_address(door.address, partial(self._names, door.address))
                if state is not door.state:
                    await door.become(state)
                    self._tell(door.address, state, outage)
            for door in self._servers:
                state = self._board.of_server(door.address)
                if state is not door.state:
                    await door.become(state)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(seconds, self._later) if isfinite(seconds) else None

    def _tell(self, address: str, state: State, outage: str) -> None:
        """What becomes of the connections that are open."""
        for connection in [one for one in self._connections if one.address == address]:
            if state is State.REFUSED:
                connection.cut(outage)
            elif state is State.LOST:
                connection.lose(outage)

    def _names(self, address: str) -> Iterator[str]:
        """The names of the hosts at this address."""
        world = self._world
        end = world.hosts + len(world.annex)
        every = range(end) if names.IPV6 in world.mix else range(_index(address), end, world.addresses)
        return (world.name(host) for host in every if world.address(host) == address)


def _index(address: str) -> int:
    """The number of an address among those of a world."""
    *_, high, low = map(int, address.split("."))
    return high * 250 + low - 1
