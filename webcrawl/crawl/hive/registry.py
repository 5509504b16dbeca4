"""What the drones of a hive share through its server: who they are, the hive's record, and commands to all.

Decided without a server. The registry there can be lost at any time, and is rebuilt from what the drones' checkpoints
know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgpack

from webcrawl.base.program import program
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import Groups, SlotMap

FORMAT = 1  # of the registry, the letters and their meaning: drones of two formats do not work together
KEPT = 3_600_000  # milliseconds for which the server keeps what does not last, for drones that do not answer just now

# Those among the drones themselves; what else a crawl can be ordered is in crawl/control/commands.py.
RESIZE = "resize"  # its arguments: the drones that shall share the web; those of them whose state is gone for good
OVER = "over"  # the crawl of all has ended
RELEASE = "release"  # these drones have given away all that they had, and may go
AMONG_DRONES = (RESIZE, OVER, RELEASE)


@dataclass(frozen=True, slots=True)
class Command:
    """Later ones have higher numbers."""

    number: int
    name: str
    args: tuple[Any, ...]

    @property
    def lasts(self) -> bool:
        """True if drones that come later have to hear it, too."""
        if self.name in AMONG_DRONES:
            return self.name == RESIZE
        try:
            return checked(self.name, *self.args).lasts(*self.args)
        except CommandError:
            return False

    @classmethod
    def unpack(cls, data: bytes) -> Command:
        """Of what the server has: the number, and behind a blank the name and the arguments (keys.COMMAND)."""
        number, _, rest = data.partition(b" ")
        name, args = msgpack.unpackb(rest)
        return cls(int(number), name, tuple(args))


def number_of(data: bytes) -> int:
    """The number of a packed command."""
    return int(data.partition(b" ")[0])


def in_force(known: Iterable[bytes], heard: Iterable[bytes]) -> tuple[bytes, ...]:
    """The known ones and those of the heard ones that last, packed, in the order in which they were given."""
    lasting = {*known, *(data for data in heard if Command.unpack(data).lasts)}
    return tuple(sorted(lasting, key=number_of))


def mark_of(name: str, args: tuple[Any, ...]) -> str:
    """A zero for commands that are forgotten after a while, see keys.COMMAND: orders, such as `checkpoint`."""
    return "" if name in AMONG_DRONES or Command(0, name, args).lasts else "0"


def wanted_by(commands: Iterable[Command]) -> frozenset[int]:
    """The drones that shall share the web by the last command that says so; none if there is no such command."""
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

    @property
    def identity(self) -> bytes:
        """The registry's name for this process."""
        return bytes(msgpack.packb((self.state, self.jobdir, self.host, self.pid)))


@dataclass(frozen=True, slots=True)
class Record:
    """The record that all drones of a hive share, from its founding on."""

    key: bytes
    partition: str
    drones: int
    founded: float
    founder: int
    fresh: bool  # its founder had no state, and not all drones have come yet
    format: int = FORMAT

    def pack(self) -> bytes:
        return bytes(
            msgpack.packb((self.format, self.key, self.partition, self.drones, self.founded, self.founder, self.fresh))
        )

    @classmethod
    def unpack(cls, data: bytes) -> Record:
        """The inverse of `pack`; HiveError for a record of another format."""
        try:
            version, *values = msgpack.unpackb(data)
            if version == FORMAT:
                return cls(*values)
        except (ValueError, TypeError) as error:
            raise HiveError(f"the hive's record in the server cannot be read: {error!r}") from error
        raise HiveError(f"the hive's record in the server has format {version}, and this webcrawl knows {FORMAT}")


@dataclass(frozen=True, slots=True)
class Registry:
    """The server's record of a hive. `drones`: the identity of each."""

    record: Record | None
    map: SlotMap | None
    drones: Mapping[int, bytes]
    gone: frozenset[str] = frozenset()
    commands: Sequence[bytes] = ()  # by their numbers

    @property
    def wanted(self) -> frozenset[int]:
        """Who shall be members by the last command that said so."""
        return wanted_by(map(Command.unpack, self.commands))


def entered(registry: Registry, me: Member, minted: Record) -> tuple[Record, SlotMap, dict[int, bytes]]:
    """The registry with this drone in it; HiveError if it does not belong here. `minted`: to found a hive with.

    A hive that was founded by a drone without a state, and that not all drones have joined yet, gives way to an older
    one: some drone had lost its state, and was the first to come after the server had been emptied.
    """
    gone = registry.gone | me.gone
    if me.state in gone:
        raise HiveError(
            f"{me.jobdir}: its drone was taken out of the hive; to join it again, begin with an empty JOBDIR"
        )
    record, known = registry.record, dict(registry.drones)
    if record is None or _gives_way(record, known, me):
        record, known, slots = minted, {}, me.map or SlotMap.fair(range(me.drones), me.groups)
    else:
        _check(record, registry, me)
        slots = _later(registry.map, me.map) or SlotMap.fair(range(record.drones), me.groups)
        if registry.map is not None and registry.map.generation < slots.generation:  # it has forgotten who has left
            known = {drone: known[drone] for drone in known.keys() & {*slots.drones, *slots.leaving}}
    for drone in me.others.keys() & {*slots.drones, *slots.leaving}:
        known.setdefault(drone, msgpack.packb((me.others[drone], "", "", 0)))
    known = {drone: identity for drone, identity in known.items() if state_of(identity) not in gone}
    former = known.get(me.drone)
    if former is not None and state_of(former) != me.state:
        state, jobdir, host, _ = msgpack.unpackb(former)
        where = f"{jobdir} on {host}" if host and jobdir != me.jobdir else f"another folder (its state is {state})"
        raise HiveError(
            f"drone {me.drone} of this hive has its state in {where}, not in {me.jobdir}: start it there, or give its "
            f"part of the web to others first ({program()} hive adopt); if that is another hive, set HIVE_NAME"
        )
    known[me.drone] = me.identity
    if record.fresh and len(known) >= record.drones:  # nobody is left who could know of an older hive
        record = replace(record, fresh=False)
    return record, slots, known


def state_of(identity: bytes) -> str:
    """The id of a drone's state."""
    return str(msgpack.unpackb(identity)[0])


def place_of(identity: bytes) -> tuple[str, int]:
    """The host and the process id of a drone."""
    _, _, host, pid = msgpack.unpackb(identity)
    return host, pid


def _gives_way(record: Record, known: Mapping[int, bytes], me: Member) -> bool:
    return me.key not in (None, record.key) and record.fresh and len(known) < record.drones


def _check(record: Record, registry: Registry, me: Member) -> None:
    if me.key not in (None, record.key):
        raise HiveError(
            f"{me.jobdir} belongs to another hive than the one that the server knows by this name: set HIVE_NAME to "
            f"tell them apart"
        )
    if me.partition != record.partition:
        raise HiveError(f"HIVE_PARTITION = {me.partition}: the hive was founded with {record.partition}")
    if me.key is not None or me.drone in registry.wanted:  # was in before, or is to come in
        return
    slots = registry.map
    if me.drones not in (record.drones, len(slots.drones) if slots else 0):
        raise HiveError(f"HIVE_DRONES = {me.drones}: the hive was founded with {record.drones}")
    if slots and me.drone not in slots.drones:
        raise HiveError(f"HIVE_DRONE = {me.drone}: the hive has the drones {', '.join(map(str, slots.drones))}")


def _later(one: SlotMap | None, other: SlotMap | None) -> SlotMap | None:
    both = [slots for slots in (one, other) if slots]
    return max(both, key=lambda slots: slots.generation, default=None)
