"""The transport by a Redis or Valkey server, or by a cluster of them, which it finds out itself.

redis-py reconnects without telling the caller, perhaps to a server that was restarted or restored
meanwhile. So each new connection asks for the server's run_id before it sends anything else. If
another process answers, or if the streams are gone, a new epoch begins: every method raises
NewEpoch until `follow` says that the caller has begun anew, too. The epoch of a cluster names all
its nodes' run_ids: if one was restarted, all streams begin anew. A server that was emptied learns
from the drone's checkpoint who the others are, so that a drone that lost its folder is not mistaken
for the one that it was, and which commands are in force, for drones that come later.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import msgpack
from redis.asyncio import RedisCluster
from redis.exceptions import RedisClusterException

from webcrawl.crawl.hive.errors import Away, Full, HiveError, NewEpoch, PartAway, legible
from webcrawl.crawl.hive.letter import BEGINNING, order
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.redis_server import clients, steps
from webcrawl.crawl.hive.redis_server.clients import Client, MakeClient, OtherServer, translated
from webcrawl.crawl.hive.registry import (
    Command,
    Entry,
    HiveRecord,
    Member,
    Registry,
    check_place,
    entered,
    in_force,
    mark_of,
    number_of,
    place_of,
    runs_elsewhere,
    state_of,
)
from webcrawl.crawl.hive.transport import Beat, ServerLook, stream_memory

FIELD = b"d"  # of an entry in a stream
IS_OPEN = 5  # in what steps.BEAT returns: whether the drone has its stream
LONGEST_READ = 5.0  # seconds that a read may wait; a network that fails is not noticed meanwhile
KEEP = 24 * 3600 * 1000  # milliseconds for which the server has what nobody asks for any more
LEAVING = 2.0  # seconds for saying goodbye
REST = 5000  # milliseconds
NOTHING = "0"  # a drone that was told of no change is told all
SHORTEST_WAIT, LONGEST_WAIT = 0.01, 1.0  # seconds until a drone tries again to enter
CHANCE = random.SystemRandom()
# seconds after which a node is silent, and for which it is not asked again then
PATIENCE, SKIPPED = 1.0, 10.0
RUN_ID = re.compile(rb"run_id:(\w+)")
T = TypeVar("T")


class RedisTransport:
    """Makes the calls of `Transport`."""

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
        self._keys = steps.Keys(name)
        self._run_ids: frozenset[str] | None = None  # of the epoch; None: any
        first = make_client(redis_connect_func=self._connected)
        # of its own: its one command waits; a cluster's client has many connections
        self._reader: clients.AnyClient = make_client(redis_connect_func=self._connected)
        self._client: clients.AnyClient = first
        self._first: Client | None = first  # None: it is known whether it is a cluster
        self._memory = memory
        self._clock = clock
        self._pause = pause
        self.member: Member | None = None
        # the record of the hive that this drone has entered, or tried to
        self._heard: HiveRecord | None = None
        self._agreed = ""  # the epoch as it stands in the server: run_id:random
        self._epoch = ""  # the random part of the one that the caller follows
        self._room = 0  # bytes that the server has for letters
        self._bytes = 0  # of all streams, by the last beat
        self._sent = 0  # bytes that this drone has added since
        self._skipped: dict[str, float] = {}  # until when, nodes that are away
        self._sample: int | None = None  # what this drone, as queen, has measured
        self._queen = False
        self._told_up_to = NOTHING  # the last change in the registry of which this drone was told
        self._hungry_bits, self._hungry = b"", frozenset[int]()

    async def open(self) -> None:
        self._run_ids = None  # any: `join` agrees on an epoch with it
        with translated():
            await self._reach()
            self._room = await clients.check(self._client)

    async def _reach(self) -> None:
        if self._first is not None:
            self._client = await clients.reached(self._first)
            if self._client is not self._first:
                await clients.closed(self._reader)
                self._reader = self._client
            self._first = None

    async def join(self, member: Member, *, lease: float = 30.0) -> Member:
        await self.open()
        self.member = member
        with translated():
            await self._agree_and_enter(lease)
        self._epoch = self._me.epoch
        return self._me

    def follow(self, epoch: str) -> None:
        self._epoch = epoch

    @property
    def _me(self) -> Member:
        if self.member is None:
            raise HiveError("the drone has not joined the hive")
        return self.member

    async def close(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(LEAVING):
                await self._leave()
        for client in (self._client, self._reader):
            await clients.closed(client)

    async def _leave(self) -> None:
        if self.member is not None:
            drone, keys = self.member.drone, self._keys
            names = (keys.drones, f"{keys.leases}{drone}", keys.queen)
            await self._client.eval(steps.LEAVE, 3, *names, drone, self.member.identity)

    # -- the epoch

    async def _connected(self, connection: Any) -> None:
        """Compare the run_id that a new connection leads to with that of the epoch."""
        await connection.on_connect()
        if self._run_ids is None:
            return
        await connection.send_command("INFO", "server")
        found = RUN_ID.search(await connection.read_response())
        if found is None or found[1].decode() not in (self._run_ids or ()):
            await connection.disconnect()
            raise OtherServer

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what one round trip gives, by the epoch that the caller follows."""
        with translated():
            await self._reach()
            for _ in range(2):
                self._same()
                try:
                    epoch, found = self._epoch, await work()
                except (OtherServer, RedisClusterException) as error:
                    # no node of the cluster is the one that it was
                    if not isinstance(error.__cause__, OtherServer | None):
                        raise
                    # if the epoch stays, only something of the registry was lost
                    await self._agree_and_enter()
                    continue
                # somebody else has noticed meanwhile: what we heard is of the former one
                if epoch != self._epoch:
                    raise NewEpoch(self._epoch)
                self._same()
                return found
        raise Away("the hive's data in the server keeps disappearing")

    async def _agree_and_enter(self, lease: float = 0.0) -> None:
        """Agree on an epoch, and enter the registry: at first, and when that was lost."""
        try:
            await self._agree()
            if self.member is not None:
                await self._enter(lease)
                # without its stream's node a drone is away
                await self._client.exists(self._keys.stream(self._me.drone, self._me.epoch))
        except OtherServer:
            raise Away("the server was restarted just now") from None

    def _same(self) -> None:
        if self._epoch != _random(self._agreed):
            raise NewEpoch(_random(self._agreed))

    async def _agree(self) -> None:
        """Finds the epoch of whatever server answers now, or begins one."""
        self._run_ids = None
        keys, fresh, nodes = self._keys, os.urandom(8).hex(), ""
        if isinstance(self._client, RedisCluster):
            # of one that does not answer, the next connection will ask
            nodes = ",".join(one["run_id"] for one in await clients.infos(self._client, "server"))
        values = (fresh, keys.streams(""), keys.acks(""), keys.reports, keys.changes(""), nodes)
        found, streams = await self._client.eval(steps.AGREE, 1, keys.epoch, *values)
        former, self._agreed = self._agreed, found.decode()
        self._run_ids = frozenset(self._agreed.partition(":")[0].split(","))
        self._sample = None
        self._bytes = 0
        self._sent = 0
        self._skipped = {}
        self._told_up_to = NOTHING
        if former not in ("", self._agreed) and self.member is not None:
            mine = {self.member.drone}
            drones = self.member.others.keys() | mine if _random(self._agreed) == fresh else mine
            streams += [keys.stream(drone, _random(former)) for drone in drones]
        if streams:  # of former epochs
            await clients.gathered(self._client, [("UNLINK", stream) for stream in streams])

    async def _atomic(self, *commands: Sequence[Any], seen: str = "") -> Any:
        """Return the answers, and what the registry is like; None if it is not as it was `seen`."""
        texts = [[one if isinstance(one, bytes) else str(one) for one in each] for each in commands]
        packed = msgpack.packb(texts, use_bin_type=False)
        keys = (self._keys.hive, self._keys.drones, self._keys.map)
        return await self._client.eval(steps.ATOMIC, len(keys), *keys, seen, packed)

    # -- the registry

    async def _enter(self, lease: float) -> None:
        """Writes this drone into the registry, unless it changes meanwhile: then again.

        Waits for another's lease.
        """
        me, keys = self._me, self._keys
        until = self._clock() + lease + 1
        written, tries = False, 0
        while not written:
            *found, seen = await self._atomic(*keys.registered, ("SMEMBERS", keys.gone))
            registry = _found(found)
            if lease and await self._held(registry.drones.get(me.drone)):
                if self._clock() > until:
                    raise HiveError(
                        f"drone {me.drone} of this hive is already running on another machine"
                    )
                await self._pause(1.0)
                continue
            entry = entered(registry, me, self._heard, self._clock())
            record, slots, drones = entry
            self._heard = record
            written = await self._write(seen, registry, entry)
            if not written:
                # All drones of a hive may come at once, and one of them enters in a round trip:
                # without a wait each of 1,000 would read the registry some 500 times
                tries += 1
                await self._pause(CHANCE.random() * min(LONGEST_WAIT, tries * SHORTEST_WAIT))
        self.member = replace(
            me,
            key=record.key,
            map=slots,
            founded=record.founded,
            fresh=record.fresh,
            others={drone: state_of(identity) for drone, identity in drones.items()},
            gone=registry.gone | me.gone,
            epoch=_random(self._agreed),
        )

    async def _write(self, seen: str, before: Registry, entry: Entry) -> bool:
        """Write what this drone knows to the registry; return False if that changed meanwhile."""
        me, keys = self._me, self._keys
        record, slots, drones = entry
        orders = {data: number_of(data) for data in {*me.commands}.difference(before.commands)}
        news = drones != before.drones or me.gone - before.gone or orders
        if (record, slots) == (before.record, before.map) and not news:
            return True
        changed = [steps.MEMBER + str(drone) for drone in _differing(drones, before.drones)]
        work: list[Sequence[Any]] = []
        kept = before.drones
        if record != before.record:
            work = [("DEL", keys.drones, keys.map), ("SET", keys.hive, record.pack())]
            changed = [steps.MEMBER + str(drone) for drone in drones.keys() | before.drones.keys()]
            kept = {}
        work += [("HSET", keys.map, "generation", slots.generation, "slots", slots.pack())]
        for drone in _differing(drones, kept):
            if drone in drones:
                work.append(("HSET", keys.drones, drone, drones[drone]))
            else:
                work.append(("HDEL", keys.drones, drone))
        work += [("SADD", keys.gone, state) for state in me.gone]
        if me.gone:
            changed.append(steps.GONE)
        if changed:
            work += [("CHANGED", keys.changes(_random(self._agreed)), *changed)]
        work += [("ZADD", keys.commands, number, data) for data, number in orders.items()]
        return bool(await self._atomic(*work, seen=seen))

    async def _held(self, former: bytes | None) -> bool:
        """Return whether the same state was alive a moment ago, on another machine."""
        me = self._me
        if former is None or not runs_elsewhere(former, me) or state_of(former) != me.state:
            return False
        return bool(await self._client.exists(f"{self._keys.leases}{me.drone}"))

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
        found, there = await self._do(
            lambda: self._beat(report, lease, generation, after, int(hungry))
        )
        # First: what a beat has told is not told again
        if not (found[IS_OPEN] and there):
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
        self.member = replace(self._me, others=members, gone=states, commands=lasting)
        if (hungry or b"") != self._hungry_bits:
            self._hungry_bits = hungry or b""
            self._hungry = frozenset(_bits(self._hungry_bits))
        self._queen = int(queen) == self._me.drone
        if packed:
            self.member = self._me.knowing(SlotMap.unpack(packed))
        self._bytes = int(size or 0)
        self._sent = 0
        # no place: of a drone that has left
        places = {int(drone): place.decode() for drone, place in _pairs(acks) if place}
        for place in places.values():
            order(place)  # ValueError: it is none
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
        lease_key = f"{keys.leases}{me.drone}"
        shared = (keys.epoch, keys.drones, keys.map, lease_key, keys.queen, keys.reports)
        told = (keys.acks(epoch), keys.commands, keys.bytes, keys.hungry)
        others = (keys.gone, keys.rest, keys.hive, keys.streams(epoch), keys.changes(epoch))
        names = (*shared, *told, *others)
        sample = "" if self._sample is None else self._sample
        values = [
            *(self._agreed, me.drone, me.identity, me.state, int(lease * 1000), report),
            *(generation, after, sample, keys.leases, KEEP),
            *(self._told_up_to, hungry, keys.stream(me.drone, epoch)),
        ]
        streams = [keys.stream(drone, epoch) for drone in me.others] if self._queen else []
        work = [
            ("EVAL", steps.BEAT, len(names), *names, *values),
            ("EXISTS", keys.stream(me.drone, epoch)),
            *(("MEMORY USAGE", stream) for stream in streams),
            *(("PEXPIRE", stream, KEEP) for stream in streams),
        ]
        found, there, *rest = await clients.gathered(self._client, work, needed=2)
        # the streams of a node that is away are not measured
        sizes = [size for size in rest[: len(streams)] if isinstance(size, int)]
        self._sample = sum(sizes) if self._queen else None
        if len(found) == 1:
            self._lost(found[0])
        return found, there

    def _lost(self, identity: bytes | None) -> None:
        """Raise the error that follows if the registry lacks us: it was emptied, or has another."""
        if identity is not None:
            with legible():
                check_place(identity, self._me)
        raise OtherServer

    # -- letters

    @property
    def filling(self) -> bool:
        return self._bytes > self._may_have // 2

    @property
    def _may_have(self) -> int:
        """Return the bytes that the streams may have: what the drones need, if the server has it."""
        drones = len(self.member.others) if self.member is not None else 0
        wanted = self._memory or stream_memory(drones)
        return min(wanted, self._room or wanted)

    async def send(self, drone: int, letters: Sequence[bytes]) -> list[str]:
        size = sum(map(len, letters))
        have = self._bytes + self._sent
        if have + size > self._may_have:
            raise Full(
                f"the hive's streams have {have >> 20} MiB of at most {self._may_have >> 20} MiB"
            )
        begun = self._clock()
        part = clients.node_of(self._client, self._keys.stream(drone, self._epoch))
        if begun < self._skipped.get(part, 0):
            raise PartAway(f"the node with the stream of drone {drone} did not answer just now")
        try:
            places = await self._do(lambda: self._add(drone, letters))
            if None in places:
                await self._do(lambda: self._open(drone))
                places = await self._do(lambda: self._add(drone, letters))
        except Away as error:
            if isinstance(error, Full) or not isinstance(self._client, RedisCluster):
                raise
            if self._clock() - begun > PATIENCE:  # each drone there would cost that
                self._skipped[part] = self._clock() + SKIPPED
            raise PartAway(f"the node with the stream of drone {drone}: {error}") from error
        if None in places:
            raise Away(f"the stream of drone {drone} keeps disappearing")
        self._sent += size
        return [place.decode() for place in places]

    async def _add(self, drone: int, letters: Sequence[bytes]) -> list[Any]:
        stream = self._keys.stream(drone, self._epoch)
        return list(await self._client.eval(steps.SEND, 1, stream, *letters))

    async def _open(self, drone: int) -> None:
        """Make a drone's stream, and then have it be known: one known and missing was lost.

        One that a kill leaves unknown, its drone's next beat makes known.
        """
        keys, epoch, client = self._keys, self._epoch, self._client
        stream = keys.stream(drone, epoch)
        registry = (2, keys.epoch, keys.streams(epoch), self._agreed, stream)
        if known := await client.eval(steps.KNOW, *registry, ""):
            made = await client.eval(steps.MAKE, 1, stream, known, KEEP)
            known = await client.eval(steps.KNOW, *registry, made)
        if not known:
            raise OtherServer

    async def read(self, after: str, most: int, wait: float) -> list[tuple[str, bytes]]:
        stream = self._keys.stream(self._me.drone, self._epoch)
        block = int(min(wait, LONGEST_READ) * 1000) or None
        found: Any = await self._do(
            lambda: self._reader.xread({stream: after or BEGINNING}, count=most, block=block)
        )
        return [
            (place.decode(), entry.get(FIELD, b""))
            for _, entries in found or ()
            for place, entry in entries
        ]

    async def acknowledge(self, place: str) -> None:
        await self._do(lambda: self._acknowledge(place))

    async def _acknowledge(self, place: str) -> None:
        """Tell the others, and remove the letters: our checkpoint has them, whichever comes first."""
        keys, epoch, drone = self._keys, self._epoch, self._me.drone
        time_, _, number = place.partition("-")
        names = (keys.epoch, keys.acks(epoch), keys.changes(epoch))
        behind = f"{time_}-{int(number) + 1}"
        note = ("EVAL", steps.ACKNOWLEDGE, 3, *names, self._agreed, drone, place)
        trim = ("XTRIM", keys.stream(drone, epoch), "MINID", "=", behind)
        if not (await clients.gathered(self._client, [note, trim], needed=2))[0]:
            raise OtherServer

    # -- what the queen or an operator tells all, and sees

    async def command(self, name: str, *args: Any) -> int:
        values = (msgpack.packb((name, args)), mark_of(name, args), steps.KEPT)
        return int(
            await self._do(
                lambda: self._client.eval(steps.COMMAND, 1, self._keys.commands, *values)
            )
        )

    async def publish_map(self, slots: SlotMap) -> bool:
        values = (slots.generation, slots.pack())
        done = await self._do(lambda: self._client.eval(steps.PUBLISH, 1, self._keys.map, *values))
        self.member = self._me.knowing(slots)
        return bool(done)

    async def give_up(self, drone: int) -> None:
        async def gone() -> None:
            identity: Any = await self._client.hget(self._keys.drones, str(drone))
            if identity:
                await self._atomic(
                    ("SADD", self._keys.gone, state_of(identity)),
                    ("CHANGED", self._keys.changes(self._epoch), steps.GONE),
                )

        await self._do(gone)

    async def forget(self, drone: int) -> None:
        keys, epoch = self._keys, self._epoch
        stream = keys.stream(drone, epoch)

        async def gone() -> None:
            await self._adopt(drone)
            # First: another drone that gets the number must not find it
            await self._client.delete(stream)
            await self._atomic(
                *(("HDEL", key, drone) for key in (keys.drones, keys.reports, keys.acks(epoch))),
                ("CHANGED", keys.changes(epoch), f"{steps.MEMBER}{drone}"),
                ("SETBIT", keys.hungry, drone, 0),
                ("SREM", keys.streams(epoch), stream),
                ("DEL", f"{keys.leases}{drone}"),
            )

        await self._do(gone)
        others = {one: state for one, state in self._me.others.items() if one != drone}
        self.member = replace(self._me, others=others)

    async def _adopt(self, drone: int) -> None:
        theirs, ours = self._keys.taken(drone), self._keys.taken(self._me.drone)
        if not isinstance(self._client, RedisCluster):
            await self._client.eval(steps.ADOPT, 2, theirs, ours)
            return
        pattern = clients.beside("*", theirs)  # beside the user's key, which is not known here
        async for key in self._client.scan_iter(match=pattern, count=10_000):
            source = key.decode().partition("{")[2].partition("}")[0]
            await self._client.eval(steps.ADOPT, 2, key, clients.beside(source, ours))

    async def let_rest(self) -> None:
        await self._do(lambda: self._client.set(self._keys.rest, 1, px=REST))

    async def look(self) -> ServerLook:
        return await self._do(self._look)

    async def _look(self) -> ServerLook:
        keys = self._keys
        rest = (("HGETALL", keys.reports), ("GET", keys.queen), ("GET", keys.bytes))
        *found, reports, queen, size, _ = await self._atomic(*keys.registered, *rest)
        registry = _found(found)
        asked = [("PTTL", f"{keys.leases}{drone}") for drone in registry.drones]
        left = await clients.gathered(self._client, asked, needed=len(asked))
        with legible():
            return ServerLook(
                registry,
                {int(drone): report for drone, report in _pairs(reports) if drone.isdigit()},
                {
                    drone: ms / 1000
                    for drone, ms in zip(registry.drones, left, strict=True)
                    if ms > 0
                },
                int(queen) if queen else None,
                int(size or 0),
            )


def _found(values: Sequence[Any]) -> Registry:
    """Return what the registry's keys say."""
    record, slots, drones, commands, *gone = values
    with legible():
        return Registry(
            HiveRecord.unpack(record) if record else None,
            SlotMap.unpack(slots) if slots else None,
            {int(drone): identity for drone, identity in _pairs(drones) if place_of(identity)},
            frozenset(state.decode() for states in gone for state in states),
            [data for data in commands if Command.unpack(data)],
        )


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


def _differing(one: Mapping[int, bytes], other: Mapping[int, bytes]) -> Iterator[int]:
    """Yield the drones that are in one of them only, or are not the same in both."""
    return (drone for drone in one.keys() | other.keys() if one.get(drone) != other.get(drone))


def _random(epoch: str) -> str:
    return epoch.rpartition(":")[2]
