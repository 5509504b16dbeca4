"""What the server has of a hive: its keys, its atomic steps, and what drones share there.

In a sharded server the keys of the registry lie on one shard, and each drone's stream on any: `{…}`
is what decides.

The steps are short Lua scripts, sent whole each time, so that none is missing after a restart. A
server that is full refuses the first write of a script if that takes memory, and no later one. What
must work then, too, so that the server can be emptied, begins with a write that frees something.

Who the drones are, the hive's record, and the commands to all of them can be lost at any time with
the server, and are rebuilt from what the drones' checkpoints know. What that gives is decided here
without a server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgpack

from webcrawl.base.program import program
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked
from webcrawl.crawl.hive.errors import HiveError, NotNamed
from webcrawl.crawl.hive.partition import EARLIER_SLOTS, SLOTS, Groups, SlotMap


class Keys:
    """The keys of the hive of this name."""

    def __init__(self, name: str) -> None:
        self._name = name
        registry = f"webcrawl:{{{name}}}:"
        self.epoch = registry + "epoch"  # "<run_id of the server>:<random>"
        self.hive = registry + "hive"  # what all drones share (Record)
        self.map = registry + "map"  # generation, slots
        self.drones = registry + "drones"  # drone: who it is (Member.identity)
        self.gone = registry + "gone"  # ids of states that are not to come back
        self.queen = registry + "queen"  # drone
        self.reports = registry + "reports"  # drone: what it said last
        self.commands = registry + "commands"  # by their numbers
        self.rest = registry + "rest"  # there while no drone has anything left but hosts set aside
        self.bytes = registry + "bytes"  # of all streams
        self.hungry = registry + "hungry"  # a bit for each drone: it has nothing to do
        self.leases = registry + "lease:"  # and the drone: its state's id
        self._acks = registry + "acks:"
        self._changes = registry + "changes:"
        self._streams = registry + "streams:"
        self._taken = registry + "taken:"

    def stream(self, drone: int, epoch: str) -> str:
        """Return the key of the letters for a drone."""
        return f"webcrawl:{{{self._name}:{drone}}}:{epoch}"

    def acks(self, epoch: str) -> str:
        """Return the key of each drone's place up to which its checkpoint has its stream."""
        return self._acks + epoch

    def changes(self, epoch: str) -> str:
        """Return the key of what changed in the registry, and when: see CHANGED."""
        return self._changes + epoch

    def streams(self, epoch: str) -> str:
        """Return the key of the streams of this epoch: one that is missing was lost."""
        return self._streams + epoch

    def taken(self, crawl: int | str) -> str:
        """Return the key of taken seeds that no checkpoint has, of a drone or a lone crawl."""
        return f"{self._taken}{crawl}"


_CHANGED = """
local function changed(key, name)
  local time, last = redis.call('TIME'), redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  local now = math.max(tonumber(time[1]) * 1000000 + tonumber(time[2]), tonumber(last or '0') + 1)
  if not last then
    redis.call('ZADD', key, string.format('%.0f', now), 'b')
    now = now + 1
  end
  redis.call('ZADD', key, string.format('%.0f', now), name)
end
"""
# What a drone is told with each beat is only what has changed since its last one. A sorted set has
# the last change of each: `a` and a drone, its place; `m` and a drone, who it is; `g`, the states
# that are gone; and `b`, when the set was begun: who was told something before that is told all.
# Scores are microseconds: they ascend over the loss of the set.
PLACE, MEMBER, GONE = "a", "m", "g"

CHANGED = f"""-- Notes that these have changed.
{_CHANGED}
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- nothing, but with it a full server lets pass what follows
for _, name in ipairs(ARGV) do changed(KEYS[1], name) end
return 1
"""

AGREE = """-- The epoch of this server process: the one that stands there, or if it is another process's, a new one.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local epoch = redis.call('GET', KEYS[1])
if epoch and string.sub(epoch, 1, #run + 1) == run .. ':' then return epoch end
if epoch then -- restored from a copy: what was on the way is sent again, and what drones said was another time
  local old = string.match(epoch, ':(%x+)$') or ''
  for _, stream in ipairs(redis.call('SMEMBERS', ARGV[2] .. old)) do redis.call('UNLINK', stream) end
  redis.call('UNLINK', ARGV[2] .. old, ARGV[3] .. old, ARGV[4], ARGV[5] .. old)
end
epoch = run .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], epoch)
return epoch
"""

OPEN = """-- Makes a drone's stream, once in an epoch. Whoever removed one has removed letters: then a new epoch is due.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then return 1 end
if redis.call('SISMEMBER', KEYS[2], KEYS[3]) == 1 then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('SADD', KEYS[2], KEYS[3])
redis.call('XADD', KEYS[3], '0-1', 'd', '')
redis.call('XTRIM', KEYS[3], 'MAXLEN', '0')
return 1
"""

ACKNOWLEDGE = f"""-- Publishes a drone's checkpointed place, and forgets the letters up to it.
{_CHANGED}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XTRIM', KEYS[3], 'MINID', '=', ARGV[4])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
changed(KEYS[4], '{PLACE}' .. ARGV[2])
return 1
"""

BEAT = """-- A drone's sign of life, and what it is told: of the registry only what has changed since it was told last.
local epoch, me = redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[2])
if epoch ~= ARGV[1] or me ~= ARGV[3] then return {me} end
redis.call('HDEL', KEYS[6], ARGV[2])
redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
redis.call('HSET', KEYS[6], ARGV[2], ARGV[6])
redis.call('SETBIT', KEYS[16], ARGV[2], ARGV[13])
local last = redis.call('ZRANGE', KEYS[15], -1, -1, 'WITHSCORES')[2] or '0'
local begun = redis.call('ZRANGE', KEYS[15], 0, 0, 'WITHSCORES')[2]
local all = not begun or tonumber(ARGV[12]) <= tonumber(begun)
local acks, drones, gone = {}, {}, false
if all then
  acks, drones, gone = redis.call('HGETALL', KEYS[7]), redis.call('HGETALL', KEYS[2]), redis.call('SMEMBERS', KEYS[11])
else
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[15], '(' .. ARGV[12], '+inf')) do
    local kind, drone = string.sub(name, 1, 1), string.sub(name, 2)
    if kind == 'a' then
      acks[#acks + 1] = drone
      acks[#acks + 1] = redis.call('HGET', KEYS[7], drone) or ''
    elseif kind == 'm' then
      drones[#drones + 1] = drone
      drones[#drones + 1] = redis.call('HGET', KEYS[2], drone) or ''
    elseif kind == 'g' then
      gone = redis.call('SMEMBERS', KEYS[11])
    end
  end
end
local queen = redis.call('GET', KEYS[5]) or ARGV[2]
local reports, alive = {}, {}
if queen == ARGV[2] then
  redis.call('SET', KEYS[5], queen, 'PX', ARGV[5])
  if ARGV[9] ~= '' then redis.call('SET', KEYS[9], ARGV[9]) end
  for _, key in ipairs({1, 2, 3, 6, 7, 8, 9, 11, 13, 14, 15, 16}) do redis.call('PEXPIRE', KEYS[key], ARGV[11]) end
  reports = redis.call('HGETALL', KEYS[6])
  for _, drone in ipairs(redis.call('HKEYS', KEYS[2])) do
    if redis.call('EXISTS', ARGV[10] .. drone) == 1 then
      alive[#alive + 1] = drone
    elseif string.match(drone, '^%d%d?%d?%d?%d?$') then -- nobody hurries for a drone that is away
      redis.call('SETBIT', KEYS[16], drone, 0)
    end
  end
end
local map = false
if redis.call('HGET', KEYS[3], 'generation') ~= ARGV[7] then map = redis.call('HGET', KEYS[3], 'slots') end
local commands = redis.call('ZRANGEBYSCORE', KEYS[8], '(' .. ARGV[8], '+inf')
local bytes, open = redis.call('GET', KEYS[9]), redis.call('EXISTS', KEYS[10])
local rest, hungry = redis.call('EXISTS', KEYS[12]), redis.call('GET', KEYS[16])
local told = {acks, reports, drones, alive, gone}
return {epoch, map, queen, commands, bytes, open, rest, hungry, last, all and 1 or 0, told}
"""

LEAVE = """-- Gives up a drone's leases, if they are still its own.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
return 1
"""

ADOPT = """-- Appends one list to another.
local found = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
for _, entry in ipairs(found) do redis.call('RPUSH', KEYS[2], entry) end
return #found
"""

PUBLISH = """-- Replaces the slot map by a later one.
if tonumber(redis.call('HGET', KEYS[1], 'generation') or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'slots', ARGV[2])
return 1
"""

COMMAND = """-- Gives a command the next number: a time in milliseconds, so that numbers ascend after a loss, too.
-- What is not for drones that come later has a zero before its number, and is forgotten some time after it was given.
local given, time = redis.call('ZRANGE', KEYS[1], 0, -1), redis.call('TIME')
local last = tonumber(string.match(given[#given] or '0', '^%d+'))
local number = math.max(tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), last + 1)
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- nothing, but with it a full server lets pass what follows
for i = #given, 1, -1 do
  local passing = string.match(given[i], '^0%d+')
  if passing and tonumber(passing) < number - tonumber(ARGV[3]) then
    redis.call('ZREMRANGEBYRANK', KEYS[1], i - 1, i - 1)
  end
end
local text = string.format('%.0f', number)
redis.call('ZADD', KEYS[1], text, ARGV[2] .. text .. ' ' .. ARGV[1])
return text
"""


# of the registry, the letters and their meaning: drones of two formats do not work together
FORMAT = 2
# says nothing of slots: a hive of an earlier version, whose server was not emptied since
FORMAT_WITHOUT_SLOTS = 1
# milliseconds for which the server keeps what does not last, for drones that do not answer just now
KEPT = 3_600_000

# Those among the drones themselves; what else a crawl can be ordered is in
# crawl/control/commands.py. its arguments: the drones that shall share the web; those of them whose
# state is gone for good
RESIZE = "resize"
OVER = "over"  # the crawl of all has ended
RELEASE = "release"  # these drones have given away all that they had, and may go
AMONG_DRONES = (RESIZE, OVER, RELEASE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to all drones; later ones have higher numbers."""

    number: int
    name: str
    args: tuple[Any, ...]

    @property
    def lasts(self) -> bool:
        """Return whether drones that come later have to hear it, too."""
        if self.name in AMONG_DRONES:
            return self.name == RESIZE
        try:
            return checked(self.name, *self.args).lasts(*self.args)
        except CommandError:
            return False

    @classmethod
    def unpack(cls, data: bytes) -> Command:
        """Read a command of the server: a number, and behind a blank its name and arguments."""
        number, _, rest = data.partition(b" ")
        name, args = msgpack.unpackb(rest)
        return cls(int(number), name, tuple(args))


def number_of(data: bytes) -> int:
    """Return the number of a packed command."""
    return int(data.partition(b" ")[0])


def in_force(known: Iterable[bytes], heard: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the known commands and those heard that last, packed, in their order."""
    lasting = {*known, *(data for data in heard if Command.unpack(data).lasts)}
    return tuple(sorted(lasting, key=number_of))


def mark_of(name: str, args: tuple[Any, ...]) -> str:
    """Return a zero for orders, which are forgotten after a while (see COMMAND)."""
    return "" if name in AMONG_DRONES or Command(0, name, args).lasts else "0"


def wanted_by(commands: Iterable[Command]) -> frozenset[int]:
    """Return the drones that share the web by the last command that says so, if any."""
    wanted: frozenset[int] = frozenset()
    for command in commands:
        if command.name == RESIZE:
            wanted = frozenset(command.args[0])
    return wanted


@dataclass(frozen=True, slots=True)
class Member:
    """A drone that joins. One that has a state brings what it knows of the hive."""

    drone: int
    state: str  # random id of its state, in hex
    jobdir: str
    host: str
    pid: int
    partition: str  # Partition.essence
    drones: int  # HIVE_DRONES
    key: bytes | None = None  # of the hive; None if this drone never was in one
    map: SlotMap | None = None
    founded: float = 0.0
    others: Mapping[int, str] = field(default_factory=dict)  # drones and the ids of their states
    gone: frozenset[str] = frozenset()  # states that are not to come back
    commands: tuple[bytes, ...] = ()  # in force, of all that it has heard
    groups: Groups = ((),)  # Partition.groups
    # of all processes of one machine since it was started; several may have one host name
    machine: str = ""

    @property
    def identity(self) -> bytes:
        """Return the registry's name for this process."""
        return bytes(msgpack.packb((self.state, self.jobdir, self.host, self.pid, self.machine)))


@dataclass(frozen=True, slots=True)
class HiveRecord:
    """The record that all drones of a hive share, from its founding on."""

    key: bytes
    partition: str
    drones: int
    founded: float
    founder: int
    fresh: bool  # its founder had no state, and not all drones have come yet
    slots: int = SLOTS  # of each group

    def pack(self) -> bytes:
        return bytes(
            msgpack.packb(
                (
                    FORMAT,
                    self.key,
                    self.partition,
                    self.drones,
                    self.founded,
                    self.founder,
                    self.fresh,
                    self.slots,
                )
            )
        )

    @classmethod
    def unpack(cls, data: bytes) -> HiveRecord:
        """Return what `pack` has packed. Raise HiveError for a record of another format."""
        try:
            version, *values = msgpack.unpackb(data)
            if version == FORMAT_WITHOUT_SLOTS:
                version, values = FORMAT, [*values, EARLIER_SLOTS]
            if version == FORMAT:
                return cls(*values)
        except (ValueError, TypeError) as error:
            raise HiveError(f"the hive's record in the server cannot be read: {error!r}") from error
        raise HiveError(
            f"the hive's record in the server has format {version}, but this program reads format {FORMAT}"
        )


@dataclass(frozen=True, slots=True)
class Registry:
    """The server's record of a hive. `drones`: the identity of each."""

    record: HiveRecord | None
    map: SlotMap | None
    drones: Mapping[int, bytes]
    gone: frozenset[str] = frozenset()
    commands: Sequence[bytes] = ()  # by their numbers

    @property
    def wanted(self) -> frozenset[int]:
        """Return the drones that shall be members by the last command that said so."""
        return wanted_by(map(Command.unpack, self.commands))


def entered(
    registry: Registry, me: Member, minted: HiveRecord
) -> tuple[HiveRecord, SlotMap, dict[int, bytes]]:
    """Return the registry with this drone in it. Raise HiveError if the drone does not belong here.

    `minted` is the record to found a hive with.

    A hive that was founded by a drone without a state, and that not all drones have joined yet,
    gives way to an older one: some drone had lost its state, and was the first to come after the
    server had been emptied.
    """
    gone = registry.gone | me.gone
    if me.state in gone:
        raise HiveError(
            f"{me.jobdir}: its drone was removed from the hive; to join again, start with an empty JOBDIR"
        )
    record, known = registry.record, dict(registry.drones)
    if record is None or _gives_way(record, known, me):
        if me.key is None:
            _check_named(me, range(me.drones), registry)
        record, known = minted, {}
        slots = me.map or SlotMap.fair(range(me.drones), me.groups, slots=minted.slots)
    else:
        _check(record, registry, me)
        slots = _later(registry.map, me.map)
        # it has forgotten who has left
        if registry.map is not None and registry.map.generation < slots.generation:
            known = {
                drone: known[drone] for drone in known.keys() & {*slots.drones, *slots.leaving}
            }
    for drone in me.others.keys() & {*slots.drones, *slots.leaving}:
        known.setdefault(drone, msgpack.packb((me.others[drone], "", "", 0)))
    known = {drone: identity for drone, identity in known.items() if state_of(identity) not in gone}
    former = known.get(me.drone)
    if former is not None and state_of(former) != me.state:
        state, jobdir, host, *_ = msgpack.unpackb(former)
        where = (
            f"{jobdir} on {host}"
            if host and jobdir != me.jobdir
            else f"another folder (its state is {state})"
        )
        raise HiveError(
            f"drone {me.drone} of this hive has its state in {where}, not in {me.jobdir}: start it there, or hand over "
            f"its hosts to other drones first ({program()} hive adopt); if that is another hive, set HIVE_NAME"
        )
    known[me.drone] = me.identity
    # nobody is left who could know of an older hive
    if record.fresh and len(known) >= record.drones:
        record = replace(record, fresh=False)
    return record, slots, known


def state_of(identity: bytes) -> str:
    """Return the id of a drone's state."""
    return str(msgpack.unpackb(identity)[0])


def place_of(identity: bytes) -> tuple[str, int]:
    """Return the host and the process id of a drone."""
    _, _, host, pid, *_ = msgpack.unpackb(identity)
    return host, pid


def runs_elsewhere(identity: bytes, me: Member) -> bool:
    """Return whether the process of this identity is known to be on another machine."""
    _, _, host, _, *machine = msgpack.unpackb(identity)
    if machine and machine[0] and me.machine:  # an earlier version has none
        return bool(machine[0] != me.machine)
    return host not in ("", me.host)


def _gives_way(record: HiveRecord, known: Mapping[int, bytes], me: Member) -> bool:
    return me.key not in (None, record.key) and record.fresh and len(known) < record.drones


def _check(record: HiveRecord, registry: Registry, me: Member) -> None:
    if me.key not in (None, record.key):
        raise HiveError(
            f"{me.jobdir} does not belong to the hive that the server knows by this name: set HIVE_NAME to "
            f"tell them apart"
        )
    if me.partition != record.partition:
        raise HiveError(
            f"HIVE_PARTITION = {me.partition}: the hive was founded with {record.partition}"
        )
    if me.map is not None and me.map.slots_of(me.groups) != record.slots:
        raise HiveError(
            f"{me.jobdir} has a map of {me.map.slots_of(me.groups)} slots; the hive was founded with "
            f"{record.slots}"
        )
    if me.key is not None or me.drone in registry.wanted:  # was in before, or is to come in
        return
    drones = registry.map.drones if registry.map else range(record.drones)
    _check_named(me, drones, registry)
    if me.drones not in (record.drones, len(drones)):
        raise HiveError(f"HIVE_DRONES = {me.drones}: the hive was founded with {record.drones}")


def _check_named(me: Member, drones: Collection[int], registry: Registry) -> None:
    if me.drone not in drones and me.drone not in registry.wanted:
        raise NotNamed(me.drone, drones)


def _later(one: SlotMap | None, other: SlotMap | None) -> SlotMap:
    """Return the later map. Raise HiveError if there is none: it cannot be computed once more."""
    both = [slots for slots in (one, other) if slots]
    if not both:
        raise HiveError(
            "the hive's server has lost the map of its slots, and this drone has none: "
            "start a drone that was in the hive before"
        )
    return max(both, key=lambda slots: slots.generation)
