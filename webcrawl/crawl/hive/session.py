"""A drone's membership: one epoch with the server, one place in the registry, whatever happens to the server.

The first thing after a lost connection is to see whether the same server process answers (connection.py). If not, or if
the streams are gone, a new epoch begins: every method raises NewEpoch until `follow` says that the caller has begun
anew, too. A server that was emptied hears from the drone's checkpoint who the others are, so that a drone that lost its
folder is not taken for the one that it was, and which commands are in force, for drones that come later.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgpack
from redis.exceptions import WatchError

from webcrawl.crawl.hive import scripts
from webcrawl.crawl.hive.connection import MakeClient, OtherServer, Watch, check, legible, translated
from webcrawl.crawl.hive.drone_registry import Member, Record, Registry, entered, place_of, state_of
from webcrawl.crawl.hive.errors import Away, HiveError, NewEpoch
from webcrawl.crawl.hive.hive_command import KEPT, Command, mark_of, number_of
from webcrawl.crawl.hive.keys import Keys
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.store.crawldb import CrawlDB, Part

T = TypeVar("T")

KEY_BYTES = 16

META = "hive/companions"


@dataclass(frozen=True, slots=True)
class Hive:
    """A member of the hive, and what it knows of the others."""

    key: bytes
    founded: float
    map: SlotMap
    epoch: str
    members: Mapping[int, str]  # drones and the ids of their states
    gone: frozenset[str]  # states that are not to come back
    fresh: bool = False  # it is being founded: a drone that has not come yet may know of an older hive


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
        self._clock, self._pause = clock, pause
        self._member: Member | None = None
        self._heard: bytes | None = None  # key of the hive that this drone has entered, or tried to
        self._agreed = ""  # the epoch as it stands in the server: run_id:random
        self._epoch = ""  # the random part of the one that the caller follows

    async def open(self) -> None:
        """Connects, and makes sure that this server can carry a hive."""
        self._watch.run_id = None  # any: `join` agrees on an epoch with it
        with translated():
            await check(self._client)

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
        """The caller has begun anew, as NewEpoch said."""
        self._epoch = epoch

    def knows(self, slots: SlotMap) -> None:
        """The latest map, for a server that may lose its own."""
        me = self._member
        if me is not None and (me.map is None or me.map.generation < slots.generation):
            self._member = replace(me, map=slots)

    @property
    def member(self) -> Member | None:
        """The drone, with what it knows of the hive; None before it has joined."""
        return self._member

    @property
    def _me(self) -> Member:
        if self._member is None:
            raise HiveError("the drone has not joined the hive")
        return self._member

    async def command(self, name: str, *args: Any) -> int:
        """Gives a command to all drones, and returns its number. Arguments are what msgpack takes."""
        values = (msgpack.packb((name, args)), mark_of(name, args), KEPT)
        return int(await self._do(lambda: self._client.eval(scripts.COMMAND, 1, self._keys.commands, *values)))

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """One round trip, by the epoch that the caller follows."""
        with translated():
            for _ in range(2):
                self._same()
                try:
                    epoch, found = self._epoch, await work()
                except OtherServer:
                    await self._again()  # if the epoch stays, only something of the registry was lost
                    continue
                if epoch != self._epoch:  # somebody else has noticed meanwhile: what we heard is of the former one
                    raise NewEpoch(self._epoch)
                self._same()
                return found
        raise Away("what the server has of the hive comes and goes")

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
        values = (fresh, keys.streams(""), keys.acks(""), keys.reports)
        found = await self._client.eval(scripts.AGREE, 1, keys.epoch, *values)
        self._agreed = found.decode()
        self._watch.run_id = self._agreed.partition(":")[0]

    async def _enter(self, lease: float) -> Hive:
        """Writes this drone into the registry, unless it changes meanwhile: then again. Waits for another's lease."""
        me, keys = self._me, self._keys
        until = self._clock() + lease + 1
        while True:
            async with self._client.pipeline() as opened:
                pipe: Any = opened
                await pipe.watch(keys.hive, keys.drones, keys.map)
                registry = await self._registry(pipe)
                if lease and await self._held(pipe, registry.drones.get(me.drone)):
                    if self._clock() > until:
                        raise HiveError(f"drone {me.drone} of this hive runs already, on another machine")
                    await pipe.unwatch()
                    await self._pause(1.0)
                    continue
                record, slots, drones = entered(registry, me, self._minted())
                self._heard = record.key
                orders = {data: number_of(data) for data in {*me.commands}.difference(registry.commands)}
                news = drones != registry.drones or me.gone - registry.gone or orders
                if (record, slots) == (registry.record, registry.map) and not news:
                    await pipe.unwatch()
                    break
                pipe.multi()
                if record != registry.record:
                    pipe.delete(keys.drones, keys.map)
                    pipe.set(keys.hive, record.pack())
                pipe.hset(keys.map, mapping={"generation": slots.generation, "slots": slots.pack()})
                pipe.hset(keys.drones, mapping={str(drone): identity for drone, identity in drones.items()})
                if out := registry.drones.keys() - drones.keys():
                    pipe.hdel(keys.drones, *map(str, out))
                if me.gone:
                    pipe.sadd(keys.gone, *me.gone)
                if orders:
                    pipe.zadd(keys.commands, orders)
                try:
                    await pipe.execute()
                except WatchError:
                    continue
            break
        gone = registry.gone | me.gone
        members = {drone: state_of(identity) for drone, identity in drones.items()}
        self._member = replace(me, key=record.key, map=slots, founded=record.founded, others=members, gone=gone)
        return Hive(record.key, record.founded, slots, _random(self._agreed), members, gone, record.fresh)

    async def _registry(self, pipe: Any) -> Registry:
        record, slots = await pipe.get(self._keys.hive), await pipe.hget(self._keys.map, "slots")
        drones, gone = await pipe.hgetall(self._keys.drones), await pipe.smembers(self._keys.gone)
        commands = await pipe.zrange(self._keys.commands, 0, -1)
        with legible():
            return Registry(
                Record.unpack(record) if record else None,
                SlotMap.unpack(slots) if slots else None,
                {int(drone): identity for drone, identity in drones.items() if place_of(identity)},
                frozenset(state.decode() for state in gone),
                [data for data in commands if Command.unpack(data)],
            )

    async def _held(self, pipe: Any, former: bytes | None) -> bool:
        """True if a process with the same state, on another machine, was alive a moment ago."""
        if former is None or place_of(former)[0] in ("", self._me.host):
            return False
        return bool(state_of(former) == self._me.state and await pipe.exists(f"{self._keys.leases}{self._me.drone}"))

    def _minted(self) -> Record:
        """To found a hive with. A server that was emptied since this drone heard of a hive gets the same one again.

        Before its first checkpoint a drone keeps no key, and the answer to its entry may have been lost.
        """
        me = self._me
        key = me.key or self._heard or os.urandom(KEY_BYTES)
        return Record(key, me.partition, me.drones, me.founded or self._clock(), me.drone, me.key is None)


def _random(epoch: str) -> str:
    return epoch.rpartition(":")[2]


class Companions(Part):
    """A part of the checkpoint."""

    def __init__(self, db: CrawlDB, server: Session) -> None:
        self._db, self._server = db, server
        self._saved = db.get(META)
        db.join(self)

    def known(self) -> dict[str, Any]:
        """For a Member that joins, or joins again and has heard of more since the checkpoint."""
        me = self._server.member
        heard = {} if me is None else {"commands": me.commands}
        if self._saved is None:
            return heard
        founded, others, gone, *commands = msgpack.unpackb(self._saved, strict_map_key=False)
        return {"founded": founded, "others": others, "gone": frozenset(gone), "commands": tuple(commands), **heard}

    def save(self) -> None:
        me = self._server.member
        if me is None or me.key is None:  # the server was not there in this run
            return
        known = msgpack.packb((me.founded, dict(sorted(me.others.items())), sorted(me.gone), *me.commands))
        if known != self._saved:
            self._db.set(META, known)
            self._saved = known
