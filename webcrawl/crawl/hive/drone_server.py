"""A drone's requests to the Redis or Valkey server: signs of life, letters, and a queen's orders."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from webcrawl.crawl.hive.errors import Away, Full, HiveError, legible
from webcrawl.crawl.hive.letter import BEGINNING, place_in
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.redis_server.clients import MakeClient, OtherServer
from webcrawl.crawl.hive.redis_server.keys import (
    ACKNOWLEDGE,
    ADOPT,
    BEAT,
    CHANGED,
    GONE,
    LEAVE,
    MEMBER,
    OPEN,
    PUBLISH,
)
from webcrawl.crawl.hive.registry import Command, in_force, place_of, state_of
from webcrawl.crawl.hive.session import Session

FIELD = b"d"  # of an entry in a stream
IS_OPEN = 5  # in what keys.BEAT returns: whether the drone has its stream
LONGEST_WAIT = 5.0  # seconds that a read may wait; a network that fails is not noticed meanwhile
KEEP = 24 * 3600 * 1000  # milliseconds for which the server has what nobody asks for any more
LEAVING = 2.0  # seconds for saying goodbye
REST = 5000  # milliseconds
NOTHING = "0"  # a drone that was told of no change is told all


@dataclass(frozen=True, slots=True)
class Beat:
    """The news that a drone is told once a second."""

    map: bytes | None  # packed; None: the one that the drone knows
    # up to which place a drone's checkpoint has its stream, of drones for which that has changed
    acks: Mapping[int, str]
    members: Mapping[int, str]  # all drones and the ids of their states
    hungry: frozenset[int]  # drones that have nothing to do
    alive: frozenset[int]  # only for the queen
    queen: int
    commands: Sequence[Command]
    reports: Mapping[int, bytes]  # only for the queen
    all_rest: bool  # no drone has anything left but hosts set aside


# Bytes of links on their way that the server holds, at least and per drone. Letters stay there
# until a checkpoint of their reader has them: 6 MiB hold 60 s at full speed. What is more waits on
# the senders' disks, and nothing is lost.
LEAST_MEMORY, DRONE_MEMORY = 64 << 20, 6 << 20


def stream_memory(drones: int) -> int:
    """Bytes that the streams of so many drones may have together."""
    return max(LEAST_MEMORY, drones * DRONE_MEMORY)


class DroneServer(Session):
    """A drone's side of the server.

    Every method may raise Away, HiveError or NewEpoch (errors.py, session.py).
    """

    def __init__(
        self,
        make_client: MakeClient,
        name: str,
        *,
        memory: int | None = None,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`memory`: bytes that the streams of all drones may have, if not by their number."""
        super().__init__(make_client, name, clock, pause)
        self._reader = self._watch.watches(make_client())  # of its own: its one command waits
        self._memory = memory
        self._bytes = 0  # of all streams, by the last beat
        self._sent = 0  # bytes that this drone has added since
        self._sample: int | None = None  # what this drone, as queen, has measured
        self._queen = False
        self._told_up_to = NOTHING  # the last change in the registry of which this drone was told
        self._hungry_bits, self._hungry = b"", frozenset[int]()

    async def close(self) -> None:
        """Gives up the leases, if the server is there, and the connections."""
        with suppress(Exception):
            async with asyncio.timeout(LEAVING):
                await self._leave()
        for client in (self._client, self._reader):
            with suppress(OSError):
                await client.aclose()

    async def _leave(self) -> None:
        if self._member is not None:
            drone, keys = self._member.drone, self._keys
            names = (keys.drones, f"{keys.leases}{drone}", keys.queen)
            await self._client.eval(LEAVE, 3, *names, drone, self._member.identity)

    @property
    def filling(self) -> bool:
        """Return whether the streams have more than half of what they may."""
        return self._bytes > self._may_have // 2

    @property
    def _may_have(self) -> int:
        """Return the bytes that the streams may have: what the drones need, if the server has it."""
        drones = len(self._member.others) if self._member is not None else 0
        wanted = self._memory or stream_memory(drones)
        return min(wanted, self._room or wanted)

    # -- once a second

    async def beat(
        self,
        report: bytes,
        *,
        lease: float,
        generation: int = 0,
        after: int = 0,
        hungry: bool = False,
    ) -> Beat:
        """Give a sign of life, and return the news.

        `generation`: of the map that the drone knows; `after`: the last command that it knows;
        `hungry`: whether it has nothing to do, so that others do not let it wait for their letters.
        """
        found = await self._do(lambda: self._beat(report, lease, generation, after, int(hungry)))
        # First: what a beat has told is not told again
        if not found[IS_OPEN]:
            await self._do(lambda: self._open(self._me.drone))
        with legible():
            return self._told(found)

    def _told(self, found: Sequence[Any]) -> Beat:
        _, packed, queen, commands, size, _, rest, hungry, last, is_all, told = found
        acks, reports, drones, alive, gone = told
        members = dict[int, str]() if is_all else self._me.others
        if drones:
            members = _changed(members, drones)
        lasting = in_force(self._me.commands, commands) if commands else self._me.commands
        states = self._me.gone if gone is None else frozenset(state.decode() for state in gone)
        self._member = replace(self._me, others=members, gone=states, commands=lasting)
        if (hungry or b"") != self._hungry_bits:
            self._hungry_bits = hungry or b""
            self._hungry = frozenset(_bits(self._hungry_bits))
        self._queen = int(queen) == self._me.drone
        if packed:
            self.knows(SlotMap.unpack(packed))
        self._bytes = int(size or 0)
        self._sent = 0
        # no place: of a drone that has left
        places = {int(drone): place_in(place) for drone, place in _pairs(acks) if place}
        self._told_up_to = last.decode()
        return Beat(
            map=packed,
            acks=places,
            members=members,
            hungry=self._hungry,
            alive=frozenset(map(int, alive)),
            queen=int(queen),
            commands=[Command.unpack(data) for data in commands],
            reports={int(drone): data for drone, data in _pairs(reports)},
            all_rest=bool(rest),
        )

    async def _beat(
        self, report: bytes, lease: float, generation: int, after: int, hungry: int
    ) -> Any:
        me, keys, epoch = self._me, self._keys, self._epoch
        names = [
            *(
                keys.epoch,
                keys.drones,
                keys.map,
                f"{keys.leases}{me.drone}",
                keys.queen,
                keys.reports,
            ),
            *(
                keys.acks(epoch),
                keys.commands,
                keys.bytes,
                keys.stream(me.drone, epoch),
                keys.gone,
                keys.rest,
            ),
            *(keys.hive, keys.streams(epoch), keys.changes(epoch), keys.hungry),
        ]
        sample = "" if self._sample is None else self._sample
        values = [
            *(self._agreed, me.drone, me.identity, me.state, int(lease * 1000), report),
            *(generation, after, sample, keys.leases, KEEP),
            *(self._told_up_to, hungry),
        ]
        pipe = self._client.pipeline(transaction=False)
        pipe.eval(BEAT, len(names), *names, *values)
        # streams may lie on other shards than the registry
        for drone in me.others if self._queen else ():
            pipe.execute_command("MEMORY", "USAGE", keys.stream(drone, epoch))
            pipe.pexpire(keys.stream(drone, epoch), KEEP)
        found, *sizes = await pipe.execute()
        self._sample = sum(size or 0 for size in sizes[::2]) if self._queen else None
        if len(found) == 1:
            self._lost(found[0])
        return found

    def _lost(self, identity: bytes | None) -> None:
        """Raise the error that follows if the registry lacks us: it was emptied, or has another."""
        if identity is not None and identity != self._me.identity:
            with legible():
                (host, pid), known = place_of(identity), state_of(identity) == self._me.state
            if not host and not known:
                raise HiveError(
                    f"drone {self._me.drone} of this hive has its state in another folder"
                )
            if not host:  # by hearsay, of a drone that was there first after all was removed
                raise OtherServer
            if known:
                raise HiveError(
                    f"drone {self._me.drone} was started a second time, on {host} (process {pid})"
                )
            raise HiveError(
                f"drone {self._me.drone} now belongs to another folder, on {host} (process {pid})"
            )
        raise OtherServer

    async def _agree(self) -> None:
        await super()._agree()
        self._sample = None
        self._bytes = 0
        self._sent = 0
        self._told_up_to = NOTHING

    # -- letters

    async def send(self, drone: int, letters: Sequence[bytes]) -> list[str]:
        """Puts letters into a drone's stream, all or none of them, and returns their places."""
        size = sum(map(len, letters))
        have = self._bytes + self._sent
        if have + size > self._may_have:
            raise Full(
                f"the hive's streams have {have >> 20} MiB of at most {self._may_have >> 20} MiB"
            )
        places = await self._do(lambda: self._add(drone, letters))
        if None in places:
            await self._do(lambda: self._open(drone))
            places = await self._do(lambda: self._add(drone, letters))
            if None in places:
                raise Away(f"the stream of drone {drone} keeps disappearing")
        self._sent += size
        return [place.decode() for place in places]

    async def _add(self, drone: int, letters: Sequence[bytes]) -> list[Any]:
        stream = self._keys.stream(drone, self._epoch)
        # all or none: a letter must not overtake another
        pipe = self._client.pipeline(transaction=True)
        for letter in letters:
            pipe.xadd(stream, {FIELD: letter}, nomkstream=True)
        return list(await pipe.execute())

    async def _open(self, drone: int) -> None:
        keys, epoch = self._keys, self._epoch
        names = (keys.epoch, keys.streams(epoch), keys.stream(drone, epoch))
        if not await self._client.eval(OPEN, 3, *names, self._agreed):
            raise OtherServer

    async def read(self, after: str, most: int, wait: float) -> list[tuple[str, bytes]]:
        """Return up to `most` letters behind a place, in order; wait up to `wait` s for the first.

        What has no letter in it, because others put it there, is an empty one.
        """
        stream = self._keys.stream(self._me.drone, self._epoch)
        block = int(min(wait, LONGEST_WAIT) * 1000) or None
        found: Any = await self._do(
            lambda: self._reader.xread({stream: after or BEGINNING}, count=most, block=block)
        )
        return [
            (place.decode(), entry.get(FIELD, b""))
            for _, entries in found or ()
            for place, entry in entries
        ]

    async def acknowledge(self, place: str) -> None:
        """Let the server forget all letters up to `place`, which the drone's checkpoint has."""
        await self._do(lambda: self._acknowledge(place))

    async def _acknowledge(self, place: str) -> None:
        keys, epoch, drone = self._keys, self._epoch, self._me.drone
        time_, _, number = place.partition("-")
        names = (keys.epoch, keys.acks(epoch), keys.stream(drone, epoch), keys.changes(epoch))
        behind = f"{time_}-{int(number) + 1}"
        if not await self._client.eval(ACKNOWLEDGE, 4, *names, self._agreed, drone, place, behind):
            raise OtherServer

    # -- what the queen tells all

    async def publish_map(self, slots: SlotMap) -> bool:
        """Replaces the map of all by a later one; False if the server has that one, or a later one."""
        values = (slots.generation, slots.pack())
        done = await self._do(lambda: self._client.eval(PUBLISH, 1, self._keys.map, *values))
        self.knows(slots)
        return bool(done)

    async def give_up(self, drone: int) -> None:
        """Keep the state of a lost drone from coming back."""

        async def gone() -> None:
            identity: Any = await self._client.hget(self._keys.drones, str(drone))
            if identity:
                pipe = self._client.pipeline(transaction=True)
                pipe.sadd(self._keys.gone, state_of(identity))
                pipe.eval(CHANGED, 1, self._keys.changes(self._epoch), GONE)
                await pipe.execute()

        await self._do(gone)

    async def forget(self, drone: int) -> None:
        """Remove a drone from the registry to which nothing is sent; its number is free again.

        Seeds that it had taken, and that no checkpoint of it had, are this drone's from now on.
        """
        keys = self._keys
        stream = keys.stream(drone, self._epoch)

        async def gone() -> None:
            pipe = self._client.pipeline(transaction=True)
            pipe.hdel(keys.drones, str(drone))
            pipe.hdel(keys.reports, str(drone))
            pipe.hdel(keys.acks(self._epoch), str(drone))
            pipe.eval(CHANGED, 1, keys.changes(self._epoch), f"{MEMBER}{drone}")
            pipe.setbit(keys.hungry, drone, 0)
            pipe.srem(keys.streams(self._epoch), stream)
            pipe.delete(stream, f"{keys.leases}{drone}")
            pipe.eval(ADOPT, 2, keys.taken(drone), keys.taken(self._me.drone))
            await pipe.execute()

        await self._do(gone)
        others = {one: state for one, state in self._me.others.items() if one != drone}
        self._member = replace(self._me, others=others)

    async def let_rest(self) -> None:
        """Tell all drones for some seconds that none has anything left but hosts set aside."""
        await self._do(lambda: self._client.set(self._keys.rest, 1, px=REST))


def _changed(members: Mapping[int, str], drones: Sequence[bytes]) -> dict[int, str]:
    """Return the members and states with these changes; a drone without an identity has left."""
    states = dict(members)
    for drone, identity in _pairs(drones):
        if identity:
            states[int(drone)] = state_of(identity)
        else:
            states.pop(int(drone), None)
    return states


def _bits(bitmap: bytes) -> Iterator[int]:
    """Yield the numbers of the bits that are set, as Redis counts them."""
    for at, byte in enumerate(bitmap):
        for bit in range(8) if byte else ():
            if byte & 0x80 >> bit:
                yield at * 8 + bit


def _pairs(flat: Sequence[Any]) -> Any:
    return zip(flat[::2], flat[1::2], strict=True)
