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
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import msgpack
from redis.asyncio import RedisCluster
from redis.exceptions import RedisClusterException

from webcrawl.crawl.hive.batch import BEGINNING, place_number
from webcrawl.crawl.hive.errors import (
    Away,
    Full,
    HiveError,
    NewEpoch,
    PartAway,
    translate_unpack_errors,
)
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.redis_server import clients, steps
from webcrawl.crawl.hive.redis_server.clients import (
    Client,
    MakeClient,
    OtherServer,
    translate_redis_errors,
)
from webcrawl.crawl.hive.registry import (
    Command,
    Entry,
    HiveRecord,
    Member,
    Registry,
    check_place,
    command_number,
    command_prefix,
    enter_registry,
    host_and_pid,
    lasting_commands,
    runs_elsewhere,
    state_id_of,
)
from webcrawl.crawl.hive.transport import Beat, ServerView, stream_memory

FIELD = b"d"  # of an entry in a stream: the batch
IS_OPEN = 5  # index, in what steps.BEAT returns: whether the drone has its stream
# A read may wait for so many seconds. A network that fails is not noticed meanwhile.
MAX_READ_SECONDS = 5.0
# Time after which the server drops the keys of a hive whose drones are all away
KEEP_MILLISECONDS = 24 * 3600 * 1000
LEAVE_SECONDS = 2.0  # for giving up the leases when a drone ends
# While all drones rest, the coordinator renews it with each of its beats, once a second.
REST_MILLISECONDS = 5000
NO_CHANGE = "0"  # the score before all changes: a drone that has heard of none is told all
# Until a drone tries again to enter the registry, which another drone has just changed
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.01, 1.0
CHANCE = random.SystemRandom()
SILENT_NODE_SECONDS = 1.0  # a node of a cluster that takes longer is silent
SKIP_NODE_SECONDS = 10.0  # and nothing is sent there until so much later
RUN_ID = re.compile(rb"run_id:(\w+)")
T = TypeVar("T")


class RedisTransport:
    """The calls of `Transport`, made to a Redis or Valkey server or cluster."""

    def __init__(
        self,
        make_client: MakeClient,
        name: str,
        *,
        memory: int | None = None,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Make no connection yet: `join` and the first call do.

        `wall` tells the time of day, which may be set; `steady` never goes back, and measures waits.
        `memory` is the number of bytes that the streams of all drones may have; without it, it
        depends on the number of drones.
        """
        self._keys = steps.Keys(name)
        # The server processes that the agreed epoch names; None: any may answer
        self._run_ids: frozenset[str] | None = None
        first = make_client(redis_connect_func=self._check_run_id)
        # A reader of its own, for its one command blocks its connection. A cluster's client has
        # many connections, and serves as both.
        self._reader: clients.AnyClient = make_client(redis_connect_func=self._check_run_id)
        self._client: clients.AnyClient = first
        # None once it is known whether the server is part of a cluster
        self._first: Client | None = first
        self._max_stream_bytes = memory
        self._wall = wall
        self._steady = steady
        self._pause = pause
        self.member: Member | None = None
        # The record of the hive that this drone has entered, or has tried to enter
        self._known_record: HiveRecord | None = None
        self._agreed = ""  # the epoch as it stands in the server: run_id:random
        self._epoch = ""  # the random part of the one that the caller follows
        self._server_bytes = 0  # that the server has for batches
        self._stream_bytes = 0  # of all streams, by the last beat
        self._sent_bytes = 0  # that this drone has added since
        self._skipped_until: dict[str, float] = {}  # by the names of silent nodes, by `steady`
        # What this drone, as coordinator, has measured of all streams
        self._measured_bytes: int | None = None
        self._is_coordinator = False
        self._last_change = NO_CHANGE  # the last one in the registry of which this drone was told
        # The last bitmap of hungry drones, and what it says: most beats bring the same one
        self._hungry_bits = b""
        self._hungry = frozenset[int]()

    async def open(self) -> None:
        self._run_ids = None  # any: `join` agrees on an epoch with it
        with translate_redis_errors():
            await self._find_cluster()
            self._server_bytes = await clients.check_server(self._client)

    async def _find_cluster(self) -> None:
        """Use a client of the whole cluster if the server is part of one. Ask the server once."""
        if self._first is None:
            return
        self._client = await clients.cluster_or_same(self._first)
        if self._client is not self._first:
            await clients.close(self._reader)
            self._reader = self._client
        self._first = None

    async def join(self, member: Member, *, lease: float = 30.0) -> Member:
        await self.open()
        self.member = member
        with translate_redis_errors():
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
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._leave()
        for client in (self._client, self._reader):
            await clients.close(client)

    async def _leave(self) -> None:
        if self.member is not None:
            drone, keys = self.member.drone, self._keys
            names = (keys.drones, f"{keys.leases}{drone}", keys.coordinator)
            await self._client.eval(steps.LEAVE, 3, *names, drone, self.member.identity)

    # -- the epoch

    async def _check_run_id(self, connection: Any) -> None:
        """Authenticate a new connection. Raise OtherServer if its run_id does not belong to the epoch.

        redis-py calls it for each connection that it makes.
        """
        await connection.on_connect()
        if self._run_ids is None:
            return
        await connection.send_command("INFO", "server")
        found = RUN_ID.search(await connection.read_response())
        # `_agree` may have reset the run_ids while the answer was on its way.
        run_ids = self._run_ids or ()
        if found is None or found[1].decode() not in run_ids:
            await connection.disconnect()
            raise OtherServer

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` gets from the server in the epoch that the caller follows.

        If the server or its registry is not as it was, agree on an epoch, enter the registry, and
        try once more. Raise NewEpoch if the epoch is another one by then, and Away if the second
        try fails, too.
        """
        with translate_redis_errors():
            await self._find_cluster()
            for _ in range(2):
                self._check_epoch()
                epoch = self._epoch
                try:
                    answer = await work()
                except (OtherServer, RedisClusterException) as error:
                    # A cluster's client raises an error of its own if no node is one of the epoch.
                    if not isinstance(error.__cause__, OtherServer | None):
                        raise
                    # If the epoch stays, only something of the registry was lost.
                    await self._agree_and_enter()
                    continue
                # Another call may have agreed on an epoch meanwhile: this answer is of the former.
                if epoch != self._epoch:
                    raise NewEpoch(self._epoch)
                self._check_epoch()
                return answer
        raise Away("the hive's data in the server keeps disappearing")

    async def _agree_and_enter(self, lease: float = 0.0) -> None:
        """Agree on an epoch, and enter the registry: at first, and when that was lost."""
        try:
            await self._agree()
            if self.member is not None:
                await self._enter(lease)
                # A drone that cannot reach the node with its stream is away: this call raises then.
                await self._client.exists(self._keys.stream(self._me.drone, self._me.epoch))
        except OtherServer:
            raise Away("the server was restarted just now") from None

    def _check_epoch(self) -> None:
        """Raise NewEpoch if the caller follows another epoch than the one agreed on."""
        agreed = _random_part(self._agreed)
        if self._epoch != agreed:
            raise NewEpoch(agreed)

    async def _agree(self) -> None:
        """Find the epoch of whatever server answers now, or begin one.

        Begin to count and to measure anew, and remove the streams of former epochs.
        """
        self._run_ids = None
        keys = self._keys
        new_epoch = os.urandom(8).hex()
        node_ids = ""
        if isinstance(self._client, RedisCluster):
            # A node that does not answer is missing here: the next connection to it will notice.
            infos = await clients.server_infos(self._client, "server")
            node_ids = ",".join(info["run_id"] for info in infos)
        values = (
            *(new_epoch, keys.streams(""), keys.acks("")),
            *(keys.reports, keys.changes(""), node_ids),
        )
        agreed, streams = await self._client.eval(steps.AGREE, 1, keys.epoch, *values)
        former = self._agreed
        self._agreed = agreed.decode()
        self._run_ids = frozenset(self._agreed.partition(":")[0].split(","))
        self._measured_bytes = None
        self._stream_bytes = 0
        self._sent_bytes = 0
        self._skipped_until = {}
        self._last_change = NO_CHANGE
        if former not in ("", self._agreed) and self.member is not None:
            # Each drone removes its own stream. The one that begins the epoch removes all that it
            # knows: the script reaches only streams that the server itself has listed.
            drones = {self.member.drone}
            if _random_part(self._agreed) == new_epoch:
                drones.update(self.member.others)
            streams += [keys.stream(drone, _random_part(former)) for drone in drones]
        if streams:
            await clients.execute_all(self._client, [("UNLINK", stream) for stream in streams])

    async def _atomic(self, *commands: Sequence[Any], seen: str = "") -> Any:
        """Carry out commands in one step; return their answers, and a digest of the registry.

        Return None, and do nothing, if the digest is not `seen`, unless that is empty.
        """
        texts = [
            [word if isinstance(word, bytes) else str(word) for word in command]
            for command in commands
        ]
        packed = msgpack.packb(texts, use_bin_type=False)
        keys = (self._keys.hive, self._keys.drones, self._keys.map)
        return await self._client.eval(steps.ATOMIC, len(keys), *keys, seen, packed)

    # -- the registry

    async def _enter(self, lease: float) -> None:
        """Write this drone into the registry; try again as long as that changes meanwhile.

        Wait for `lease` seconds if the same state was alive on another machine. Raise HiveError if
        it still is then, or if the drone does not belong to this hive.
        """
        me = self._me
        keys = self._keys
        gives_up_at = self._steady() + lease + 1
        is_written = False
        tries = 0
        while not is_written:
            *answers, seen = await self._atomic(*keys.registered, ("SMEMBERS", keys.gone))
            registry = _registry_of(answers)
            if lease and await self._is_alive_elsewhere(registry.drones.get(me.drone)):
                if self._steady() > gives_up_at:
                    raise HiveError(
                        f"drone {me.drone} of this hive is already running on another machine"
                    )
                await self._pause(1.0)
                continue
            entry = enter_registry(registry, me, self._known_record, self._wall())
            record, slots, drones = entry
            self._known_record = record
            is_written = await self._write(seen, registry, entry)
            if not is_written:
                # All drones of a hive may come at once, and one of them enters in a round trip:
                # without a wait each of 1,000 would read the registry some 500 times
                tries += 1
                longest = min(MAX_RETRY_SECONDS, tries * MIN_RETRY_SECONDS)
                await self._pause(CHANCE.random() * longest)
        self.member = replace(
            me,
            key=record.key,
            map=slots,
            founded=record.founded,
            fresh=record.fresh,
            others={drone: state_id_of(identity) for drone, identity in drones.items()},
            gone=registry.gone | me.gone,
            epoch=_random_part(self._agreed),
        )

    async def _write(self, seen: str, before: Registry, entry: Entry) -> bool:
        """Write what this drone knows to the registry; return False if that changed meanwhile.

        `before` is the registry as it was read, and `seen` its digest then. Write nothing if it
        knows all of that already.
        """
        me = self._me
        orders = set(me.commands).difference(before.commands)
        if _has_all(before, entry, me, orders):
            return True
        work, changed = self._registry_changes(before, entry)
        work += [("SADD", self._keys.gone, state) for state in me.gone]
        if me.gone:
            changed.append(steps.GONE)
        if changed:
            work.append(("CHANGED", self._keys.changes(_random_part(self._agreed)), *changed))
        work += [("ZADD", self._keys.commands, command_number(data), data) for data in orders]
        return bool(await self._atomic(*work, seen=seen))

    def _registry_changes(
        self, before: Registry, entry: Entry
    ) -> tuple[list[Sequence[Any]], list[str]]:
        """Return the commands that write the record, the map and the drones, and what they change.

        What they change is named as in `steps.CHANGED`: drones are told of it with their beats.
        """
        keys = self._keys
        record, slots, drones = entry
        commands: list[Sequence[Any]] = []
        changed_drones = _differing(drones, before.drones)
        replaced_drones = changed_drones
        if record != before.record:  # another hive, or the first: nothing of the former stays
            commands += [("DEL", keys.drones, keys.map), ("SET", keys.hive, record.pack())]
            changed_drones = drones.keys() | before.drones.keys()
            replaced_drones = set(drones)
        commands.append(("HSET", keys.map, "generation", slots.generation, "slots", slots.pack()))
        for drone in replaced_drones:
            if drone in drones:
                commands.append(("HSET", keys.drones, drone, drones[drone]))
            else:
                commands.append(("HDEL", keys.drones, drone))
        return commands, [f"{steps.MEMBER}{drone}" for drone in changed_drones]

    async def _is_alive_elsewhere(self, former: bytes | None) -> bool:
        """Return whether this drone's state was alive a moment ago, on another machine.

        `former` is the identity that the registry has for the drone, if any.
        """
        me = self._me
        if former is None or not runs_elsewhere(former, me) or state_id_of(former) != me.state:
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
        """Give a sign of life, and return the news (see `Transport.beat`)."""
        answer, has_stream = await self._do(
            lambda: self._ask_news(report, lease, generation, after, int(hungry))
        )
        # Make the stream before the news are noted: what a beat has told is not told again.
        if not (answer[IS_OPEN] and has_stream):
            await self._do(lambda: self._open_stream(self._me.drone))
        with translate_unpack_errors():
            return self._note_news(answer)

    async def _ask_news(
        self, report: bytes, lease: float, generation: int, after: int, hungry: int
    ) -> tuple[Sequence[Any], bool]:
        """Return what `steps.BEAT` answers, and whether this drone's stream is there.

        A coordinator measures the other drones' streams in the same round trip, for its next beat. Raise
        OtherServer if the registry lacks this drone.
        """
        me = self._me
        keys = self._keys
        epoch = self._epoch
        own_stream = keys.stream(me.drone, epoch)
        script_keys = (
            *(keys.epoch, keys.drones, keys.map, f"{keys.leases}{me.drone}"),
            *(
                keys.coordinator,
                keys.reports,
                keys.acks(epoch),
                keys.commands,
                keys.bytes,
                keys.hungry,
            ),
            *(keys.gone, keys.rest, keys.hive, keys.streams(epoch), keys.changes(epoch)),
        )
        measured = "" if self._measured_bytes is None else self._measured_bytes
        values = (
            *(self._agreed, me.drone, me.identity, me.state, int(lease * 1000), report),
            *(generation, after, measured, keys.leases, KEEP_MILLISECONDS),
            *(self._last_change, hungry, own_stream),
        )
        streams = [keys.stream(drone, epoch) for drone in me.others] if self._is_coordinator else []
        work = [
            ("EVAL", steps.BEAT, len(script_keys), *script_keys, *values),
            ("EXISTS", own_stream),
            *(("MEMORY USAGE", stream) for stream in streams),
            *(("PEXPIRE", stream, KEEP_MILLISECONDS) for stream in streams),
        ]
        answer, has_stream, *others = await clients.execute_all(self._client, work, needed=2)
        # the streams of a node that is away are not measured
        sizes = [size for size in others[: len(streams)] if isinstance(size, int)]
        self._measured_bytes = sum(sizes) if self._is_coordinator else None
        if len(answer) == 1:  # only the identity that the registry has in this drone's place
            self._fail_unregistered(answer[0])
        return answer, bool(has_stream)

    def _note_news(self, answer: Sequence[Any]) -> Beat:
        """Return the news of a beat, and keep what this drone has to know of the others.

        `answer` is what `steps.BEAT` returns. Raise ValueError if it has a place that is none.
        """
        _, packed, coordinator, commands, stream_bytes, _, rest, hungry, last, is_all, told = answer
        acks, reports, drones, alive, gone = told
        members = dict[int, str]() if is_all else self._me.others
        if drones:
            members = _changed_members(members, drones)
        lasting = lasting_commands(self._me.commands, commands) if commands else self._me.commands
        states = self._me.gone if gone is None else frozenset(state.decode() for state in gone)
        self.member = replace(self._me, others=members, gone=states, commands=lasting)
        hungry_bits = hungry or b""
        if hungry_bits != self._hungry_bits:
            self._hungry_bits = hungry_bits
            self._hungry = frozenset(_set_bits(hungry_bits))
        self._is_coordinator = int(coordinator) == self._me.drone
        if packed:
            self.member = self._me.with_map(SlotMap.unpack(packed))
        self._stream_bytes = int(stream_bytes or 0)
        self._sent_bytes = 0
        # A drone that has left has an empty place.
        places = {int(drone): place.decode() for drone, place in _pairs(acks) if place}
        for place in places.values():
            place_number(place)  # raises ValueError if it is no place
        self._last_change = last.decode()
        return Beat(
            map=packed,
            acks=places,
            members=members,
            hungry=self._hungry,
            alive=frozenset(map(int, alive)),
            coordinator=int(coordinator),
            commands=[Command.unpack(data) for data in commands],
            reports={int(drone): data for drone, data in _pairs(reports)},
            all_rest=bool(rest),
        )

    def _fail_unregistered(self, identity: bytes | None) -> None:
        """Raise the error for a drone that the registry lacks: HiveError or OtherServer.

        `identity` is that of the drone which the registry has in its place; None if it has none,
        because it was emptied.
        """
        if identity is not None:
            with translate_unpack_errors():
                check_place(identity, self._me)
        raise OtherServer

    # -- batches

    @property
    def filling(self) -> bool:
        return self._stream_bytes > self._stream_limit // 2

    @property
    def _stream_limit(self) -> int:
        """Return the bytes that the streams may have: what the drones need, if the server has it."""
        drones = len(self.member.others) if self.member is not None else 0
        wanted = self._max_stream_bytes or stream_memory(drones)
        return min(wanted, self._server_bytes or wanted)

    async def send(self, drone: int, batches: Sequence[bytes]) -> list[str]:
        """Put batches into a drone's stream, all or none of them, and return their places.

        Raise Full if the streams have no room for them, and PartAway if the node of the cluster
        with the stream does not answer.
        """
        batch_bytes = sum(map(len, batches))
        limit = self._stream_limit
        held = self._stream_bytes + self._sent_bytes
        if held + batch_bytes > limit:
            raise Full(f"the hive's streams have {held >> 20} MiB of at most {limit >> 20} MiB")
        begun = self._steady()
        node = clients.node_of(self._client, self._keys.stream(drone, self._epoch))
        if begun < self._skipped_until.get(node, 0):
            raise PartAway(f"the node with the stream of drone {drone} did not answer just now")
        try:
            places = await self._do(lambda: self._add(drone, batches))
            if None in places:
                await self._do(lambda: self._open_stream(drone))
                places = await self._do(lambda: self._add(drone, batches))
        except Away as error:
            # In a cluster, other nodes may still take batches.
            if isinstance(error, Full) or not isinstance(self._client, RedisCluster):
                raise
            # Each drone with a stream on this node would cost as long a wait.
            if self._steady() - begun > SILENT_NODE_SECONDS:
                self._skipped_until[node] = self._steady() + SKIP_NODE_SECONDS
            raise PartAway(f"the node with the stream of drone {drone}: {error}") from error
        if None in places:
            raise Away(f"the stream of drone {drone} keeps disappearing")
        self._sent_bytes += batch_bytes
        return [place.decode() for place in places]

    async def _add(self, drone: int, batches: Sequence[bytes]) -> list[Any]:
        """Return the places of the batches in the drone's stream; None for each if there is none."""
        stream = self._keys.stream(drone, self._epoch)
        return list(await self._client.eval(steps.SEND, 1, stream, *batches))

    async def _open_stream(self, drone: int) -> None:
        """Make a drone's stream, and then make it known. Raise OtherServer if it was lost.

        A stream that is known and missing was lost. If a kill leaves a stream unknown, the next
        beat of its drone makes it known.
        """
        keys = self._keys
        client = self._client
        stream = keys.stream(drone, self._epoch)
        registry = (2, keys.epoch, keys.streams(self._epoch), self._agreed, stream)
        # 0 in another epoch, 1 for a stream that is not known yet, 2 for one that is
        known = await client.eval(steps.KNOW, *registry, "")
        if known:
            made = await client.eval(steps.MAKE, 1, stream, known, KEEP_MILLISECONDS)
            known = await client.eval(steps.KNOW, *registry, made)
        if not known:
            raise OtherServer

    async def read(self, after: str, most: int, wait: float) -> list[tuple[str, bytes]]:
        """Return up to `most` batches behind a place (see `Transport.read`)."""
        stream = self._keys.stream(self._me.drone, self._epoch)
        milliseconds = int(min(wait, MAX_READ_SECONDS) * 1000)
        block = milliseconds or None  # Redis takes 0 for a wait without end
        streams: Any = await self._do(
            lambda: self._reader.xread({stream: after or BEGINNING}, count=most, block=block)
        )
        return [
            (place.decode(), entry.get(FIELD, b""))
            for _, entries in streams or ()
            for place, entry in entries
        ]

    async def acknowledge(self, place: str) -> None:
        await self._do(lambda: self._acknowledge(place))

    async def _acknowledge(self, place: str) -> None:
        """Tell the senders, and trim the stream. Raise OtherServer if the epoch is another one.

        Our checkpoint has these batches, so that after a kill either step alone is right.
        """
        keys = self._keys
        epoch = self._epoch
        drone = self._me.drone
        milliseconds, _, number = place.partition("-")
        next_place = f"{milliseconds}-{int(number) + 1}"
        script_keys = (keys.epoch, keys.acks(epoch), keys.changes(epoch))
        note = ("EVAL", steps.ACKNOWLEDGE, 3, *script_keys, self._agreed, drone, place)
        trim = ("XTRIM", keys.stream(drone, epoch), "MINID", "=", next_place)
        is_noted, _ = await clients.execute_all(self._client, [note, trim], needed=2)
        if not is_noted:
            raise OtherServer

    # -- what the coordinator or an operator tells all, and sees

    async def command(self, name: str, *args: Any) -> int:
        values = (msgpack.packb((name, args)), command_prefix(name, args), steps.KEPT)
        return int(
            await self._do(
                lambda: self._client.eval(steps.COMMAND, 1, self._keys.commands, *values)
            )
        )

    async def publish_map(self, slots: SlotMap) -> bool:
        values = (slots.generation, slots.pack())
        done = await self._do(lambda: self._client.eval(steps.PUBLISH, 1, self._keys.map, *values))
        self.member = self._me.with_map(slots)
        return bool(done)

    async def give_up(self, drone: int) -> None:
        """Keep the state of a lost drone from coming back, and let all drones know."""

        async def note_gone() -> None:
            identity: Any = await self._client.hget(self._keys.drones, str(drone))
            if identity:
                await self._atomic(
                    ("SADD", self._keys.gone, state_id_of(identity)),
                    ("CHANGED", self._keys.changes(self._epoch), steps.GONE),
                )

        await self._do(note_gone)

    async def forget(self, drone: int) -> None:
        """Remove a drone from the registry (see `Transport.forget`).

        In a cluster these steps are on several nodes. After a kill between two of them the coordinator
        repeats them all.
        """
        keys = self._keys
        epoch = self._epoch
        stream = keys.stream(drone, epoch)

        async def remove() -> None:
            await self._adopt_seeds(drone)
            # Before the number is free: another drone that gets it must not find this stream.
            await self._client.delete(stream)
            await self._atomic(
                *(("HDEL", key, drone) for key in (keys.drones, keys.reports, keys.acks(epoch))),
                ("CHANGED", keys.changes(epoch), f"{steps.MEMBER}{drone}"),
                ("SETBIT", keys.hungry, drone, 0),
                ("SREM", keys.streams(epoch), stream),
                ("DEL", f"{keys.leases}{drone}"),
            )

        await self._do(remove)
        others = {other: state for other, state in self._me.others.items() if other != drone}
        self.member = replace(self._me, others=others)

    async def _adopt_seeds(self, drone: int) -> None:
        """Take over the seeds that this drone had taken, and that no checkpoint of it had."""
        theirs = self._keys.taken(drone)
        ours = self._keys.taken(self._me.drone)
        if not isinstance(self._client, RedisCluster):
            await self._client.eval(steps.ADOPT, 2, theirs, ours)
            return
        # In a cluster they lie on the node of the user's key of seeds, which is not known here.
        pattern = clients.key_beside("*", theirs)
        async for key in self._client.scan_iter(match=pattern, count=10_000):
            source = key.decode().partition("{")[2].partition("}")[0]
            await self._client.eval(steps.ADOPT, 2, key, clients.key_beside(source, ours))

    async def let_rest(self) -> None:
        await self._do(lambda: self._client.set(self._keys.rest, 1, px=REST_MILLISECONDS))

    async def read_server(self) -> ServerView:
        return await self._do(self._read_all)

    async def _read_all(self) -> ServerView:
        """Return what the server knows of the hive.

        The registry and the reports are of one moment. The leases are read after that.
        """
        keys = self._keys
        reads = (("HGETALL", keys.reports), ("GET", keys.coordinator), ("GET", keys.bytes))
        *answers, reports, coordinator, stream_bytes, _ = await self._atomic(
            *keys.registered, *reads
        )
        registry = _registry_of(answers)
        lease_reads = [("PTTL", f"{keys.leases}{drone}") for drone in registry.drones]
        leases = await clients.execute_all(self._client, lease_reads, needed=len(lease_reads))
        seconds_left = {
            drone: milliseconds / 1000
            for drone, milliseconds in zip(registry.drones, leases, strict=True)
            if milliseconds > 0
        }
        with translate_unpack_errors():
            return ServerView(
                registry,
                {int(drone): report for drone, report in _pairs(reports) if drone.isdigit()},
                seconds_left,
                int(coordinator) if coordinator else None,
                int(stream_bytes or 0),
            )


def _registry_of(values: Sequence[Any]) -> Registry:
    """Return the registry whose keys (`steps.Keys.registered`) have these values."""
    record, slots, drones, commands, *gone = values
    with translate_unpack_errors():
        return Registry(
            HiveRecord.unpack(record) if record else None,
            SlotMap.unpack(slots) if slots else None,
            {int(drone): identity for drone, identity in _pairs(drones) if host_and_pid(identity)},
            frozenset(state.decode() for states in gone for state in states),
            [data for data in commands if Command.unpack(data)],
        )


def _has_all(registry: Registry, entry: Entry, me: Member, orders: Collection[bytes]) -> bool:
    """Return whether a registry has all that a drone that enters brings. `orders`: those it lacks."""
    return (
        entry == (registry.record, registry.map, registry.drones)
        and me.gone <= registry.gone
        and not orders
    )


def _changed_members(members: Mapping[int, str], drones: Sequence[bytes]) -> dict[int, str]:
    """Return the members and states with these changes; a drone without an identity has left."""
    states = dict(members)
    for drone, identity in _pairs(drones):
        if identity:
            states[int(drone)] = state_id_of(identity)
        else:
            states.pop(int(drone), None)
    return states


def _set_bits(bitmap: bytes) -> Iterator[int]:
    """Yield the numbers of the bits that are set, as Redis counts them."""
    for number, byte in enumerate(bitmap):
        if not byte:
            continue
        for bit in range(8):
            if byte & 0x80 >> bit:
                yield number * 8 + bit


def _pairs(flat: Sequence[Any]) -> Any:
    """Return the fields and values of a hash, which Redis answers one after the other."""
    return zip(flat[::2], flat[1::2], strict=True)


def _differing(one: Mapping[int, bytes], other: Mapping[int, bytes]) -> set[int]:
    """Return the drones that are in one of them only, or have other values in the other."""
    return {drone for drone in one.keys() | other.keys() if one.get(drone) != other.get(drone)}


def _random_part(epoch: str) -> str:
    return epoch.rpartition(":")[2]
