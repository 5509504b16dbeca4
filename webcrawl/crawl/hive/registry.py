"""What the drones share on the server: who they are, the hive's record, and commands for all.

All of that can be lost at any time with the server, and is rebuilt from what the drones'
checkpoints know. What the registry has once a drone has entered it is decided here without a
server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, NamedTuple, Self

import msgpack

from webcrawl.base.program import program
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked
from webcrawl.crawl.hive.errors import (
    ANOTHER_HIVE,
    HiveError,
    UnknownDrone,
    translate_unpack_errors,
)
from webcrawl.crawl.hive.partition import (
    EARLIER_SLOTS,
    NO_ORDER,
    SLOTS,
    Groups,
    SlotMap,
    WantedMembers,
)
from webcrawl.store.crawldb import CrawlDB, Part, SavedValue

# Of the registry and of batches, with their meaning: drones of two formats do not work together.
FORMAT = 2
# The record of an earlier version, without the number of slots. A server that was not emptied since
# may have one.
FORMAT_WITHOUT_SLOTS = 1
KEY_BYTES = 16

# Commands among the drones themselves. The others, to a crawl, are in crawl/control/commands.py.
# Arguments: the drones that shall share the web, and drones whose states are gone for good
RESIZE = "resize"
OVER = "over"  # the crawl of all has ended; with an argument: and no drone has got a page
RELEASE = "release"  # the drones in its arguments have given away all that they had, and may go
HIVE_COMMANDS = (RESIZE, OVER, RELEASE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to all drones; later ones have higher numbers."""

    number: int
    name: str
    args: tuple[Any, ...]

    @property
    def lasts(self) -> bool:
        """Return whether drones that come later have to hear it, too."""
        if self.name in HIVE_COMMANDS:
            return self.name == RESIZE
        try:
            return checked(self.name, *self.args).lasts(*self.args)
        except CommandError:
            return False

    def pack(self) -> bytes:
        """Return a command that lasts as the server has it (see steps.COMMAND)."""
        return b"%d %b" % (self.number, msgpack.packb((self.name, self.args)))

    @classmethod
    def unpack(cls, data: bytes) -> Command:
        """Read a command of the server: a number, and behind a blank its name and arguments."""
        number, _, rest = data.partition(b" ")
        name, args = msgpack.unpackb(rest)
        return cls(int(number), name, tuple(args))


def command_number(data: bytes) -> int:
    return int(data.partition(b" ")[0])


def lasting_commands(known: Iterable[bytes], heard: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the known commands and those heard that last, packed, in their order."""
    lasting = {*known, *(data for data in heard if Command.unpack(data).lasts)}
    return tuple(sorted(lasting, key=command_number))


def orders_in(commands: Iterable[bytes]) -> tuple[WantedMembers, ...]:
    """Return the orders for the members of the hive among these packed commands, in their order."""
    orders = []
    last = NO_ORDER
    for command in map(Command.unpack, sorted(commands, key=command_number)):
        if command.name == RESIZE:
            members, lost = command.args
            last = last.followed_by(members, lost, command.number)
            orders.append(last)
    return tuple(orders)


def command_prefix(name: str, args: tuple[Any, ...]) -> str:
    """Return what stands before a command's number in the server (see steps.COMMAND).

    That is a zero if the server forgets the command after a while, and nothing otherwise.
    """
    return "" if name in HIVE_COMMANDS or Command(0, name, args).lasts else "0"


class ProcessIdentity(NamedTuple):
    """The registry's name for a process, as it is stored there, packed.

    One that is known by hearsay has only a state. Those of earlier versions have fewer fields.
    """

    state: str  # random id of its state, in hex
    jobdir: str = ""
    host: str = ""
    pid: int = 0
    machine: str = ""
    seeds: Sequence[str] = ()

    def pack(self) -> bytes:
        return bytes(msgpack.packb(self))

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the inverse of `pack`. What a later version has put behind is left out."""
        return cls(*msgpack.unpackb(data)[: len(cls._fields)])


class DronePlace(NamedTuple):
    """Where a drone has its state."""

    drone: int
    jobdir: str
    host: str  # empty: it is not known


@dataclass(frozen=True, slots=True)
class Member:
    """A drone that enters the registry, with what its state knows of the hive."""

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
    gone: frozenset[str] = frozenset()  # ids of states that are not to come back
    commands: tuple[bytes, ...] = ()  # those that last, packed, of all that it has heard
    groups: Groups = ((),)  # Partition.groups
    # The id of the machine's start: the same for all its processes, while several machines may have
    # one host name
    machine: str = ""
    epoch: str = ""  # that it has joined
    # The hive is being founded: a drone that has not come yet may know of an older one.
    fresh: bool = False
    # digests of its seeds, in several ways: drones of one crawl have one in common; empty: unknown
    seeds: tuple[str, ...] = ()

    @property
    def identity(self) -> bytes:
        """Return the registry's name for this process."""
        return ProcessIdentity(
            self.state, self.jobdir, self.host, self.pid, self.machine, self.seeds
        ).pack()

    def with_map(self, slots: SlotMap) -> Member:
        """Return the member with the later one of its map and this one."""
        is_later = self.map is None or self.map.generation < slots.generation
        return replace(self, map=slots) if is_later else self


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
        return bytes(msgpack.packb((FORMAT, *astuple(self))))

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
    """All that the server knows of a hive and its drones."""

    record: HiveRecord | None
    map: SlotMap | None
    drones: Mapping[int, bytes]  # the identity of each (Member.identity)
    gone: frozenset[str] = frozenset()  # ids of states that are not to come back
    commands: Sequence[bytes] = ()  # packed, by their numbers

    @property
    def wanted(self) -> frozenset[int]:
        """Return the drones that shall be members by the last order; none if there is no order."""
        with translate_unpack_errors():
            orders = orders_in(self.commands)
        return orders[-1].members if orders else frozenset()


# The hive's record, its map, and the identity of each drone
Entry = tuple[HiveRecord, SlotMap, dict[int, bytes]]


def enter_registry(
    registry: Registry, me: Member, known_record: HiveRecord | None, now: float
) -> Entry:
    """Return the registry with this drone in it. Raise HiveError if the drone does not belong here.

    `known_record` is that of the hive which the drone has entered before, or tried to.

    A hive that was founded by a drone without a state, and that not all drones have joined yet,
    gives way to an older one: some drone had lost its state, and was the first to come after the
    server had been emptied.
    """
    gone = registry.gone | me.gone
    if me.state in gone:
        raise HiveError(
            f"{me.jobdir}: its drone was removed from the hive; to join again, start with an empty JOBDIR"
        )
    record = registry.record
    drones = dict(registry.drones)
    if record is None or _gives_way(record, drones, me):
        if me.key is None:
            _check_named(me, range(me.drones), registry)
        record = _new_record(me, known_record, now)
        drones = {}
        slots = me.map or SlotMap.fair(range(me.drones), me.groups, slots=record.slots)
    else:
        _check_hive(record, registry, me)
        slots = _later_map(registry.map, me.map)
        is_behind = registry.map is not None and registry.map.generation < slots.generation
        if is_behind:  # the server has forgotten who has left
            there = {*slots.drones, *slots.leaving}
            drones = {drone: drones[drone] for drone in drones.keys() & there}
    for drone in me.others.keys() & {*slots.drones, *slots.leaving}:
        drones.setdefault(drone, ProcessIdentity(me.others[drone]).pack())
    drones = {
        drone: identity for drone, identity in drones.items() if state_id_of(identity) not in gone
    }
    if me.drone in drones:
        _check_state(drones[me.drone], me)
    drones[me.drone] = me.identity
    # Once all have come, no drone is left that could know of an older hive.
    if record.fresh and len(drones) >= record.drones:
        record = replace(record, fresh=False)
    return record, slots, drones


def _check_state(identity: bytes, me: Member) -> None:
    """Raise HiveError if the registry knows this drone with another state than that which enters."""
    known = ProcessIdentity.unpack(identity)
    if known.state == me.state:
        return
    where = f"another folder (its state is {known.state})"
    if known.host and known.jobdir != me.jobdir:
        where = f"{known.jobdir} on {known.host}"
    raise HiveError(
        f"drone {me.drone} of this hive has its state in {where}, not in {me.jobdir}: start it there, or hand over "
        f"its hosts to other drones first ({program()} hive adopt){ANOTHER_HIVE}"
    )


def state_id_of(identity: bytes) -> str:
    return ProcessIdentity.unpack(identity).state


def host_and_pid(identity: bytes) -> tuple[str, int]:
    """Return the host and the process id of a drone."""
    process = ProcessIdentity.unpack(identity)
    return process.host, process.pid


def runs_elsewhere(identity: bytes, me: Member) -> bool:
    """Return whether the process of this identity is known to be on another machine."""
    process = ProcessIdentity.unpack(identity)
    if process.machine and me.machine:  # an earlier version has none
        return process.machine != me.machine
    return process.host not in ("", me.host)


def check_place(identity: bytes, me: Member) -> None:
    """Raise HiveError if another process of this drone's state has its place in the registry.

    Raise it, too, if the other drones have told the registry of another state. Its own process, and
    its own state as others have told it, are no reason.
    """
    if identity == me.identity:
        return
    host, pid = host_and_pid(identity)
    is_same_state = state_id_of(identity) == me.state
    if host and is_same_state:
        raise HiveError(f"drone {me.drone} was started a second time, on {host} (process {pid})")
    # A drone of another state that has entered: `enter_registry` says which of the two belongs here. It may
    # be of a new hive that came first to an emptied server, and that gives way to this one.
    if not host and not is_same_state:
        raise HiveError(f"drone {me.drone} of this hive has its state in another folder")


def _new_record(me: Member, known_record: HiveRecord | None, now: float) -> HiveRecord:
    """Return the record of a hive that this drone founds, or founds again after a server was emptied.

    Before its first checkpoint a drone keeps no key, and the answer to its entry may have been
    lost. Then the key of the record that it has tried to enter with is used again: other drones may
    have kept that.
    """
    key = me.key
    slots = SLOTS
    if known_record is not None:
        key = key or known_record.key
        slots = known_record.slots
    if me.map is not None:
        slots = me.map.slots_of(me.groups)
    return HiveRecord(
        key=key or os.urandom(KEY_BYTES),
        partition=me.partition,
        drones=me.drones,
        founded=me.founded or now,
        founder=me.drone,
        fresh=me.key is None,
        slots=slots,
    )


def _gives_way(record: HiveRecord, drones: Mapping[int, bytes], me: Member) -> bool:
    """Return whether a hive that is being founded gives way to the older one of this drone."""
    is_of_other_hive = me.key not in (None, record.key)
    is_being_founded = record.fresh and len(drones) < record.drones
    return is_of_other_hive and is_being_founded


def _check_hive(record: HiveRecord, registry: Registry, me: Member) -> None:
    """Raise HiveError unless the drone and its settings belong to the hive of this record."""
    if me.key not in (None, record.key):
        where = first_place(_places(registry))
        raise HiveError(
            f"{me.jobdir} does not belong to the hive that the server knows by this name{where}. A hive "
            f"keeps its name: start the other one with another HIVE_NAME, or this one with another server or "
            f"database in REDIS_URL"
        )
    if me.partition != record.partition:
        raise HiveError(
            f"HIVE_PARTITION = {me.partition}: the hive was founded with {record.partition}{ANOTHER_HIVE}"
        )
    if me.map is not None and me.map.slots_of(me.groups) != record.slots:
        raise HiveError(
            f"{me.jobdir} has a map of {me.map.slots_of(me.groups)} slots; the hive was founded with "
            f"{record.slots}"
        )
    # A drone that was in the hive before, or that the last order names, may have another HIVE_DRONES.
    if me.key is not None or me.drone in registry.wanted:
        return
    drones = registry.map.drones if registry.map else range(record.drones)
    _check_named(me, drones, registry)
    if me.drones not in (record.drones, len(drones)):
        raise HiveError(
            f"HIVE_DRONES = {me.drones}: the hive was founded with {record.drones}{ANOTHER_HIVE}"
        )
    if record.fresh:
        _check_seeds(me, registry.drones)


# Two new hives of one name that are started at the same moment would make one hive of a drone of
# each: the seeds of hosts that the other drones should have got would be lost, with exit status 0.
# Later on seeds may differ, for commands add some.
def _check_seeds(me: Member, drones: Mapping[int, bytes]) -> None:
    """Raise HiveError if a drone of a hive that is being founded has other seeds than this one."""
    for drone, identity in drones.items():
        other = ProcessIdentity.unpack(identity)
        # an identity of an earlier version, or one that is known by hearsay, has no seeds
        is_comparable = drone != me.drone and other.seeds and me.seeds
        if is_comparable and set(other.seeds).isdisjoint(me.seeds):
            raise HiveError(
                f"the server already has a new hive of this name, with other seeds (drone {drone} in {other.jobdir} on "
                f"{other.host}): set a different HIVE_NAME; all drones of one hive must have the same seeds"
            )


def first_place(places: Iterable[DronePlace]) -> str:
    """Return, in brackets, where the first drone is whose place is known; empty if none is.

    By its JOBDIR and machine an operator may know which hive a message speaks of.
    """
    for place in sorted(places):
        if place.host:
            return f" (drone {place.drone} in {place.jobdir} on {place.host})"
    return ""


def _places(registry: Registry) -> Iterator[DronePlace]:
    """Yield where each drone of the registry says that it is."""
    for drone, packed in registry.drones.items():
        process = ProcessIdentity.unpack(packed)
        yield DronePlace(drone, process.jobdir, process.host)


def _check_named(me: Member, drones: Collection[int], registry: Registry) -> None:
    """Raise UnknownDrone if neither these drones nor the last order include this one."""
    if me.drone not in drones and me.drone not in registry.wanted:
        raise UnknownDrone(me.drone, drones)


def _later_map(one: SlotMap | None, other: SlotMap | None) -> SlotMap:
    """Return the later map. Raise HiveError if there is none: it cannot be computed once more."""
    maps = [slots for slots in (one, other) if slots]
    if not maps:
        raise HiveError(
            "the hive's server has lost the map of its slots, and this drone has none: "
            "start a drone that was in the hive before"
        )
    return max(maps, key=lambda slots: slots.generation)


COMPANIONS = "hive/companions"  # in the database


def other_states(saved: bytes | None) -> Mapping[int, str]:
    """Return the state that each other drone had, as COMPANIONS has them."""
    return {} if saved is None else msgpack.unpackb(saved, strict_map_key=False)[1]


def saved_commands(saved: bytes | None) -> tuple[bytes, ...]:
    """Return the commands in force, packed, as COMPANIONS has them."""
    if saved is None:
        return ()
    _, _, _, *commands = msgpack.unpackb(saved, strict_map_key=False)
    return tuple(commands)


def with_command(saved: bytes, command: Command) -> bytes:
    """Return the value of COMPANIONS of a drone that has heard of one more command."""
    return bytes(msgpack.packb((*msgpack.unpackb(saved, strict_map_key=False), command.pack())))


class Companions(Part):
    """Keeps what a drone knows of the others: who they are, who is gone, commands that last."""

    def __init__(self, db: CrawlDB, member: Callable[[], Member | None]) -> None:
        """`member` returns what the drone knows now, or None before it has joined."""
        self._member = member
        self._saved = SavedValue(db, COMPANIONS)
        db.join(self)

    def known(self) -> dict[str, Any]:
        """Return the fields of a Member that joins: by the checkpoint, and what it has heard since."""
        me = self._member()
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
        """Write what the drone knows now, if that has changed."""
        me = self._member()
        if me is None or me.key is None:  # the server was not there in this run
            return
        others = dict(sorted(me.others.items()))
        self._saved.save(msgpack.packb((me.founded, others, sorted(me.gone), *me.commands)))
