"""A drone's membership: its connections, one epoch with the server, and one place in the registry.

redis-py reconnects without telling the caller, perhaps to a server that was restarted or restored
meanwhile. So each new connection asks for the server's run_id before it sends anything else. If
another process answers, or if the streams are gone, a new epoch begins: every method raises
NewEpoch until `follow` says that the caller has begun anew, too. A server that was emptied learns
from the drone's checkpoint who the others are, so that a drone that lost its folder is not mistaken
for the one that it was, and which commands are in force, for drones that come later.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgpack
from redis.exceptions import WatchError

from webcrawl.crawl.hive.errors import Away, HiveError, NewEpoch, legible
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.crawl.hive.redis_server.clients import (
    MakeClient,
    OtherServer,
    Watch,
    check,
    translated,
)
from webcrawl.crawl.hive.redis_server.keys import AGREE, CHANGED, COMMAND, GONE, KEPT, MEMBER, Keys
from webcrawl.crawl.hive.registry import (
    Command,
    HiveRecord,
    Member,
    Registry,
    entered,
    mark_of,
    number_of,
    place_of,
    runs_elsewhere,
    state_of,
)
from webcrawl.store.crawldb import CrawlDB, Part, SavedValue

KEY_BYTES = 16
SHORTEST_WAIT, LONGEST_WAIT = 0.01, 1.0  # seconds until a drone tries again to enter
CHANCE = random.SystemRandom()
META = "hive/companions"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hive:
    """A member of the hive, and what it knows of the others."""

    key: bytes
    founded: float
    map: SlotMap
    epoch: str
    members: Mapping[int, str]  # drones and the ids of their states
    gone: frozenset[str]  # states that are not to come back
    # it is being founded: a drone that has not come yet may know of an older hive
    fresh: bool = False


class Session:
    """Connections, epoch and registry, and commands to all."""

    def __init__(
        self,
        make_client: MakeClient,
        name: str,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._keys = Keys(name)
        self._watch = Watch()
        self._client = self._watch.watches(make_client())
        self._clock = clock
        self._pause = pause
        self._member: Member | None = None
        # the record of the hive that this drone has entered, or tried to
        self._heard: HiveRecord | None = None
        self._agreed = ""  # the epoch as it stands in the server: run_id:random
        self._epoch = ""  # the random part of the one that the caller follows
        self._room = 0  # bytes that the server has for letters

    async def open(self) -> None:
        """Connects, and makes sure that this server can carry a hive."""
        self._watch.run_id = None  # any: `join` agrees on an epoch with it
        with translated():
            self._room = await check(self._client)

    async def join(self, member: Member, *, lease: float = 30.0) -> Hive:
        """Enters the registry, founding it if need be, and follows its epoch."""
        self._member = member
        try:
            with translated():
                await self._agree()
                hive = await self._enter(lease)
        except OtherServer:
            raise Away("the server was restarted just now") from None
        self._epoch = hive.epoch
        return hive

    def follow(self, epoch: str) -> None:
        """Note that the caller has begun anew, as NewEpoch said."""
        self._epoch = epoch

    def knows(self, slots: SlotMap) -> None:
        """Keep the latest map, for a server that may lose its own."""
        me = self._member
        if me is not None and (me.map is None or me.map.generation < slots.generation):
            self._member = replace(me, map=slots)

    @property
    def member(self) -> Member | None:
        """Return the drone with what it knows of the hive, or None before it has joined."""
        return self._member

    @property
    def _me(self) -> Member:
        if self._member is None:
            raise HiveError("the drone has not joined the hive")
        return self._member

    async def command(self, name: str, *args: Any) -> int:
        """Gives a command to all drones, and returns its number.

        Arguments are what msgpack takes.
        """
        values = (msgpack.packb((name, args)), mark_of(name, args), KEPT)
        return int(
            await self._do(lambda: self._client.eval(COMMAND, 1, self._keys.commands, *values))
        )

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what one round trip gives, by the epoch that the caller follows."""
        with translated():
            for _ in range(2):
                self._same()
                try:
                    epoch, found = self._epoch, await work()
                except OtherServer:
                    # if the epoch stays, only something of the registry was lost
                    await self._again()
                    continue
                # somebody else has noticed meanwhile: what we heard is of the former one
                if epoch != self._epoch:
                    raise NewEpoch(self._epoch)
                self._same()
                return found
        raise Away("the hive's data in the server keeps disappearing")

    async def _again(self) -> None:
        try:
            await self._agree()
            if self._member is not None:
                await self._enter(0.0)
        except OtherServer:
            raise Away("the server was restarted just now") from None

    def _same(self) -> None:
        if self._epoch != _random(self._agreed):
            raise NewEpoch(_random(self._agreed))

    async def _agree(self) -> None:
        """Finds the epoch of whatever server answers now, or begins one."""
        self._watch.run_id = None
        keys, fresh = self._keys, os.urandom(8).hex()
        values = (fresh, keys.streams(""), keys.acks(""), keys.reports, keys.changes(""))
        found = await self._client.eval(AGREE, 1, keys.epoch, *values)
        self._agreed = found.decode()
        self._watch.run_id = self._agreed.partition(":")[0]

    async def _enter(self, lease: float) -> Hive:
        """Writes this drone into the registry, unless it changes meanwhile: then again.

        Waits for another's lease.
        """
        me, keys = self._me, self._keys
        until = self._clock() + lease + 1
        written, tries = False, 0
        while not written:
            async with self._client.pipeline() as opened:
                pipe: Any = opened
                await pipe.watch(keys.hive, keys.drones, keys.map)
                registry = await self._registry(pipe)
                if lease and await self._held(pipe, registry.drones.get(me.drone)):
                    if self._clock() > until:
                        raise HiveError(
                            f"drone {me.drone} of this hive is already running on another machine"
                        )
                    await pipe.unwatch()
                    await self._pause(1.0)
                    continue
                record, slots, drones = entered(registry, me, self._minted())
                self._heard = record
                written = await self._write(pipe, registry, record, slots, drones)
            if not written:
                # All drones of a hive may come at once, and one of them enters in a round trip:
                # without a wait each of 1,000 would read the registry some 500 times
                tries += 1
                await self._pause(CHANCE.random() * min(LONGEST_WAIT, tries * SHORTEST_WAIT))
        gone = registry.gone | me.gone
        members = {drone: state_of(identity) for drone, identity in drones.items()}
        self._member = replace(
            me, key=record.key, map=slots, founded=record.founded, others=members, gone=gone
        )
        return Hive(
            record.key, record.founded, slots, _random(self._agreed), members, gone, record.fresh
        )

    async def _write(
        self,
        pipe: Any,
        registry: Registry,
        record: HiveRecord,
        slots: SlotMap,
        drones: Mapping[int, bytes],
    ) -> bool:
        """Write what this drone knows to the registry; return False if that changed meanwhile."""
        me, keys = self._me, self._keys
        orders = {data: number_of(data) for data in {*me.commands}.difference(registry.commands)}
        news = drones != registry.drones or me.gone - registry.gone or orders
        if (record, slots) == (registry.record, registry.map) and not news:
            await pipe.unwatch()
            return True
        changes = keys.changes(_random(self._agreed))
        changed = [MEMBER + str(drone) for drone in _differing(drones, registry.drones)]
        pipe.multi()
        if record != registry.record:
            pipe.delete(keys.drones, keys.map)
            pipe.set(keys.hive, record.pack())
            changed = [MEMBER + str(drone) for drone in drones.keys() | registry.drones.keys()]
        pipe.hset(keys.map, mapping={"generation": slots.generation, "slots": slots.pack()})
        pipe.hset(keys.drones, mapping={str(drone): identity for drone, identity in drones.items()})
        if out := registry.drones.keys() - drones.keys():
            pipe.hdel(keys.drones, *map(str, out))
        if me.gone:
            pipe.sadd(keys.gone, *me.gone)
            changed.append(GONE)
        if changed:
            pipe.eval(CHANGED, 1, changes, *changed)
        if orders:
            pipe.zadd(keys.commands, orders)
        try:
            await pipe.execute()
        except WatchError:
            return False
        return True

    async def _registry(self, pipe: Any) -> Registry:
        record, slots = await pipe.get(self._keys.hive), await pipe.hget(self._keys.map, "slots")
        drones, gone = await pipe.hgetall(self._keys.drones), await pipe.smembers(self._keys.gone)
        commands = await pipe.zrange(self._keys.commands, 0, -1)
        with legible():
            return Registry(
                HiveRecord.unpack(record) if record else None,
                SlotMap.unpack(slots) if slots else None,
                {int(drone): identity for drone, identity in drones.items() if place_of(identity)},
                frozenset(state.decode() for state in gone),
                [data for data in commands if Command.unpack(data)],
            )

    async def _held(self, pipe: Any, former: bytes | None) -> bool:
        """Return whether the same state was alive a moment ago, on another machine."""
        if former is None or not runs_elsewhere(former, self._me):
            return False
        return bool(
            state_of(former) == self._me.state
            and await pipe.exists(f"{self._keys.leases}{self._me.drone}")
        )

    def _minted(self) -> HiveRecord:
        """Return the record of a new hive: the one before, for a server that was emptied.

        Before its first checkpoint a drone keeps no key, and the answer to its entry may have been
        lost.
        """
        me, heard = self._me, self._heard
        key = me.key or (heard.key if heard is not None else os.urandom(KEY_BYTES))
        slots = heard.slots if heard is not None else SLOTS
        return HiveRecord(
            key,
            me.partition,
            me.drones,
            me.founded or self._clock(),
            me.drone,
            me.key is None,
            slots if me.map is None else me.map.slots_of(me.groups),
        )


def _differing(one: Mapping[int, bytes], other: Mapping[int, bytes]) -> Iterator[int]:
    """Yield the drones that are in one of them only, or are not the same in both."""
    return (drone for drone in one.keys() | other.keys() if one.get(drone) != other.get(drone))


def _random(epoch: str) -> str:
    return epoch.rpartition(":")[2]


def other_states(saved: bytes | None) -> Mapping[int, str]:
    """Return the state that each other drone had, as META has them."""
    return {} if saved is None else msgpack.unpackb(saved, strict_map_key=False)[1]


class Companions(Part):
    """Keeps what a drone knows of the others: who they are, who is gone, commands in force."""

    def __init__(self, db: CrawlDB, server: Session) -> None:
        self._server = server
        self._saved = SavedValue(db, META)
        db.join(self)

    def known(self) -> dict[str, Any]:
        """Return what a Member that joins knows: by the checkpoint, and what it has heard since."""
        me = self._server.member
        heard = {} if me is None else {"commands": me.commands}
        if self._saved.data is None:
            return heard
        founded, others, gone, *commands = msgpack.unpackb(self._saved.data, strict_map_key=False)
        return {
            "founded": founded,
            "others": others,
            "gone": frozenset(gone),
            "commands": tuple(commands),
            **heard,
        }

    def save(self) -> None:
        me = self._server.member
        if me is None or me.key is None:  # the server was not there in this run
            return
        self._saved.save(
            msgpack.packb(
                (me.founded, dict(sorted(me.others.items())), sorted(me.gone), *me.commands)
            )
        )
