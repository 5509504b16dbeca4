"""The entries in the server for all drones: the map of slots, commands, and who belongs to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgpack

from webcrawl.crawl.hive import scripts
from webcrawl.crawl.hive.drone_registry import state_of
from webcrawl.crawl.hive.hive_command import KEPT, mark_of
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.session import Session

REST = 5000  # milliseconds


class Board(Session):
    """Changes what all drones are told."""

    async def publish_map(self, slots: SlotMap) -> bool:
        """Replaces the map of all by a later one; False if the server has that one, or a later one."""
        values = (slots.generation, slots.pack())
        done = await self._do(lambda: self._client.eval(scripts.PUBLISH, 1, self._keys.map, *values))
        self.knows(slots)
        return bool(done)

    async def give_up(self, drone: int) -> None:
        """The state of a lost drone may not come back."""

        async def gone() -> None:
            identity: Any = await self._client.hget(self._keys.drones, str(drone))
            if identity:
                await self._client.sadd(self._keys.gone, state_of(identity))

        await self._do(gone)

    async def forget(self, drone: int) -> None:
        """Takes a drone out of the registry, when nobody sends to it any more; its number may be used again.

        Seeds that it had taken, and that no checkpoint of it had, are this drone's from now on.
        """
        keys = self._keys
        stream = keys.stream(drone, self._epoch)

        async def gone() -> None:
            pipe = self._client.pipeline(transaction=True)
            pipe.hdel(keys.drones, str(drone))
            pipe.hdel(keys.reports, str(drone))
            pipe.hdel(keys.acks(self._epoch), str(drone))
            pipe.srem(keys.streams(self._epoch), stream)
            pipe.delete(stream, f"{keys.leases}{drone}")
            if self._member is not None:
                pipe.eval(scripts.ADOPT, 2, keys.taken(drone), keys.taken(self._member.drone))
            await pipe.execute()

        await self._do(gone)
        if self._member is not None:
            others = {one: state for one, state in self._member.others.items() if one != drone}
            self._member = replace(self._member, others=others)

    async def command(self, name: str, *args: Any) -> int:
        """Gives a command to all drones, and returns its number. Arguments are what msgpack takes."""
        values = (msgpack.packb((name, args)), mark_of(name, args), KEPT)
        return int(await self._do(lambda: self._client.eval(scripts.COMMAND, 1, self._keys.commands, *values)))

    async def let_rest(self) -> None:
        """No drone has anything left but hosts set aside: so it is for some seconds, unless it is said again."""
        await self._do(lambda: self._client.set(self._keys.rest, 1, px=REST))
