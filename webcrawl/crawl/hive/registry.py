"""What drones share in the server: who they are, the hive's record, and the commands to all.

Who the drones are, the hive's record, and the commands to all of them can be lost at any time with
the server, and are rebuilt from what the drones' checkpoints know. What that gives is decided here
without a server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

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

# of the registry, the letters and their meaning: drones of two formats do not work together
FORMAT = 2
# says nothing of slots: a hive of an earlier version, whose server was not emptied since
FORMAT_WITHOUT_SLOTS = 1
KEY_BYTES = 16

# Those among the drones themselves; what else a crawl can be ordered is in
# crawl/control/commands.py. its arguments: the drones that shall share the web; those of them whose
# state is gone for good
RESIZE = "resize"
OVER = "over"  # the crawl of all has ended; with an argument: and no drone has got anything
RELEASE = "release"  # these drones have given away all that they had, and may go
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
    """Return the number of a packed command."""
    return int(data.partition(b" ")[0])


def lasting_commands(known: Iterable[bytes], heard: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the known commands and those heard that last, packed, in their order."""
    lasting = {*known, *(data for data in heard if Command.unpack(data).lasts)}
    return tuple(sorted(lasting, key=command_number))


def orders_in(commands: Iterable[bytes]) -> tuple[WantedMembers, ...]:
    """Return the orders for the members of the hive among these packed commands, in their order."""
    found = []
    before = NO_ORDER
    for command in map(Command.unpack, sorted(commands, key=command_number)):
        if command.name == RESIZE:
            members, lost = command.args
            before = before.followed_by(members, lost, command.number)
            found.append(before)
    return tuple(found)


def command_prefix(name: str, args: tuple[Any, ...]) -> str:
    """Return a zero for orders, which are forgotten after a while (see steps.COMMAND)."""
    return "" if name in HIVE_COMMANDS or Command(0, name, args).lasts else "0"


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
    epoch: str = ""  # that it has joined
    # the hive is being founded: a drone that has not come yet may know of an older one
    fresh: bool = False
    # digests of its seeds, in several ways: drones of one crawl have one in common; empty: unknown
    seeds: tuple[str, ...] = ()

    @property
    def identity(self) -> bytes:
        """Return the registry's name for this process."""
        fields = (self.state, self.jobdir, self.host, self.pid, self.machine, self.seeds)
        return bytes(msgpack.packb(fields))

    def knowing(self, slots: SlotMap) -> Member:
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
    """The server's record of a hive. `drones`: the identity of each."""

    record: HiveRecord | None
    map: SlotMap | None
    drones: Mapping[int, bytes]
    gone: frozenset[str] = frozenset()
    commands: Sequence[bytes] = ()  # by their numbers

    @property
    def wanted(self) -> frozenset[int]:
        """Return the drones that shall be members by the last command that says so, if any."""
        with translate_unpack_errors():
            orders = orders_in(self.commands)
        return orders[-1].members if orders else frozenset()


# The hive's record, its map, and the identity of each drone
Entry = tuple[HiveRecord, SlotMap, dict[int, bytes]]


def enter_registry(registry: Registry, me: Member, heard: HiveRecord | None, now: float) -> Entry:
    """Return the registry with this drone in it. Raise HiveError if the drone does not belong here.

    `heard` is the record of the hive that the drone has entered before, or tried to.

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
        record, known = _new_record(me, heard, now), {}
        slots = me.map or SlotMap.fair(range(me.drones), me.groups, slots=record.slots)
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
    known = {
        drone: identity for drone, identity in known.items() if state_id_of(identity) not in gone
    }
    former = known.get(me.drone)
    if former is not None and state_id_of(former) != me.state:
        state, jobdir, host, *_ = msgpack.unpackb(former)
        where = (
            f"{jobdir} on {host}"
            if host and jobdir != me.jobdir
            else f"another folder (its state is {state})"
        )
        raise HiveError(
            f"drone {me.drone} of this hive has its state in {where}, not in {me.jobdir}: start it there, or hand over "
            f"its hosts to other drones first ({program()} hive adopt){ANOTHER_HIVE}"
        )
    known[me.drone] = me.identity
    # nobody is left who could know of an older hive
    if record.fresh and len(known) >= record.drones:
        record = replace(record, fresh=False)
    return record, slots, known


def state_id_of(identity: bytes) -> str:
    """Return the id of a drone's state."""
    return str(msgpack.unpackb(identity)[0])


def host_and_pid(identity: bytes) -> tuple[str, int]:
    """Return the host and the process id of a drone."""
    _, _, host, pid, *_ = msgpack.unpackb(identity)
    return host, pid


def runs_elsewhere(identity: bytes, me: Member) -> bool:
    """Return whether the process of this identity is known to be on another machine."""
    _, _, host, _, *machine = msgpack.unpackb(identity)
    if machine and machine[0] and me.machine:  # an earlier version has none
        return bool(machine[0] != me.machine)
    return host not in ("", me.host)


def check_place(identity: bytes, me: Member) -> None:
    """Raise HiveError if another process of this drone's state has its place in the registry.

    Raise it, too, if the other drones have told the registry of another state. Its own process, and
    its own state as others have told it, are no reason.
    """
    if identity == me.identity:
        return
    host, pid = host_and_pid(identity)
    is_known = state_id_of(identity) == me.state
    if host and is_known:
        raise HiveError(f"drone {me.drone} was started a second time, on {host} (process {pid})")
    # A drone of another state that has entered: `enter_registry` says which of the two belongs here. It may
    # be of a new hive that came first to an emptied server, and that gives way to this one.
    if not host and not is_known:
        raise HiveError(f"drone {me.drone} of this hive has its state in another folder")


def _new_record(me: Member, heard: HiveRecord | None, now: float) -> HiveRecord:
    """Return the record of a new hive: the one before, for a server that was emptied.

    Before its first checkpoint a drone keeps no key, and the answer to its entry may have been
    lost.
    """
    key = me.key or (heard.key if heard is not None else os.urandom(KEY_BYTES))
    slots = heard.slots if heard is not None else SLOTS
    if me.map is not None:
        slots = me.map.slots_of(me.groups)
    founded = me.founded or now
    is_new = me.key is None
    return HiveRecord(key, me.partition, me.drones, founded, me.drone, is_new, slots)


def _gives_way(record: HiveRecord, known: Mapping[int, bytes], me: Member) -> bool:
    return me.key not in (None, record.key) and record.fresh and len(known) < record.drones


def _check(record: HiveRecord, registry: Registry, me: Member) -> None:
    if me.key not in (None, record.key):
        raise HiveError(
            f"{me.jobdir} does not belong to the hive that the server knows by this name{_where(registry)}. A hive "
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
    if me.key is not None or me.drone in registry.wanted:  # was in before, or is to come in
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
        _, jobdir, host, _, *rest = msgpack.unpackb(identity)
        # an identity of an earlier version, or one that is known by hearsay, has no seeds
        seeds = rest[1] if len(rest) > 1 else ()
        is_comparable = drone != me.drone and seeds and me.seeds
        if is_comparable and set(seeds).isdisjoint(me.seeds):
            raise HiveError(
                f"the server already has a new hive of this name, with other seeds (drone {drone} in {jobdir} on "
                f"{host}): set a different HIVE_NAME; all drones of one hive must have the same seeds"
            )


def _where(registry: Registry) -> str:
    """Return where a drone of this hive has its state, in brackets; empty if that is not known."""
    for drone, identity in sorted(registry.drones.items()):
        _, jobdir, host, *_ = msgpack.unpackb(identity)
        if host:
            return f" (drone {drone} in {jobdir} on {host})"
    return ""


def _check_named(me: Member, drones: Collection[int], registry: Registry) -> None:
    if me.drone not in drones and me.drone not in registry.wanted:
        raise UnknownDrone(me.drone, drones)


def _later(one: SlotMap | None, other: SlotMap | None) -> SlotMap:
    """Return the later map. Raise HiveError if there is none: it cannot be computed once more."""
    both = [slots for slots in (one, other) if slots]
    if not both:
        raise HiveError(
            "the hive's server has lost the map of its slots, and this drone has none: "
            "start a drone that was in the hive before"
        )
    return max(both, key=lambda slots: slots.generation)


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
    """Keeps what a drone knows of the others: who they are, who is gone, commands in force.

    `member` returns what the drone knows now.
    """

    def __init__(self, db: CrawlDB, member: Callable[[], Member | None]) -> None:
        self._member = member
        self._saved = SavedValue(db, COMPANIONS)
        db.join(self)

    def known(self) -> dict[str, Any]:
        """Return what a Member that joins knows: by the checkpoint, and what it has heard since."""
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
        me = self._member()
        if me is None or me.key is None:  # the server was not there in this run
            return
        self._saved.save(
            msgpack.packb(
                (me.founded, dict(sorted(me.others.items())), sorted(me.gone), *me.commands)
            )
        )
