"""The folder of a hive on one machine: what hive.json says, and where its drones lie.

Which drones are members is in the slot map of their checkpoints, and nowhere else. An order to
change them goes over the server, and into the checkpoint of each drone that hears of it. hive.json
has what no drone knows before it runs, and is written only by the process that has the folder's
lock.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from webcrawl.crawl.hive.errors import UNPACK_ERRORS, CannotRead, HiveError, translate_os_errors
from webcrawl.crawl.hive.member import IDENTITY, KEY, MAP, OBEYED, obeyed_number, unpack_identity
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.partition import MAX_DRONES, NO_ORDER, SlotMap
from webcrawl.crawl.hive.registry import (
    COMPANIONS,
    RESIZE,
    Command,
    orders_in,
    saved_commands,
    with_command,
)
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk, appending, regular, replacing
from webcrawl.store.errors import DamagedFile, StateLocked, StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import HIVE, VERSION, folder_of, hive_of, is_crawl, number_of
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lock import Lock, is_held

EARLIER_FIELDS = ("lost", "wanted")  # of hive.json, that only an earlier version wrote
Text = Annotated[str, Meta(min_length=1)]
Number = Annotated[int, Meta(ge=0, le=MAX_DRONES)]
# The figures that every crawl has, before anything was counted
ZERO_FIGURES = dict.fromkeys(("pages", "answers", "queued", "hosts", "failures", "bytes"), 0)


@dataclass(frozen=True, slots=True)
class Founding:
    """The facts of a hive that stay the same for its life, and a note of its members."""

    name: Text
    spider: Text
    partition: Text
    founders: Number  # how many drones it had at first: HIVE_DRONES of all of them
    # A note of the members by the map, for programs that look for missing folders. The launcher
    # decides by it only while no checkpoint has a map.
    drones: tuple[Number, ...]
    # Only in a file of an earlier version: drones that were given up, and the members after a
    # change. `take_over_orders` puts both into the checkpoints.
    lost: tuple[Number, ...] = ()
    wanted: tuple[Number, ...] = ()


class HiveFolder:
    """`JOBDIR` of a hive: each drone has an ordinary JOBDIR below it."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet: the folder need not exist."""
        self.path = path
        self.server = path / "server"  # the folder of the hive's own server
        self.stats = path / stats_file.NAME

    def drone(self, number: int) -> Path:
        return folder_of(self.path, number)

    def log(self, number: int) -> Path:
        """Return the file with the drone's output."""
        return self.path / "logs" / f"drone-{number}.log"

    def check_logs(self, drones: Iterable[int]) -> None:
        """Raise HiveError if the output of a drone cannot be written: then no drone could start."""
        with translate_os_errors(self.path):
            for log in map(self.log, drones):
                log.parent.mkdir(exist_ok=True)
                appending(log).close()

    def read(self) -> Founding | None:
        """Return the facts of the hive, or None if there is no hive yet.

        Raise HiveError if hive.json is damaged, or if the folder is that of a single process.
        """
        file = self.path / HIVE
        try:
            with translate_os_errors(file):
                if file.exists():
                    with regular(file) as opened:
                        return _founding(file, json.load(opened))
                is_single = (self.path / "state").exists()
        except (ValueError, RecursionError) as error:
            raise HiveError(f"{file}: damaged: {error}") from error
        if is_single:
            raise HiveError(
                f"{self.path}: holds the crawl of a single process, or of one drone; give the JOBDIR "
                "of the hive or the URL of its server, or another JOBDIR for a new hive"
            )
        return None

    def all_drones(self) -> tuple[int, ...]:
        """Return the drones that a start begins with, and those that were there once."""
        try:
            with translate_os_errors(self.path):
                hive = hive_of(self.path)
        except StoreError as error:
            raise CannotRead(str(error)) from error
        return hive.drones if hive else ()

    def read_checkpoints(self) -> HiveView:
        """Return what the checkpoints here know of the members: the latest map, and all orders."""
        maps: list[SlotMap] = []
        commands: set[bytes] = set()
        for number in self._with_state():
            try:
                slots, companions = self._saved(number, MAP, COMPANIONS)
                if slots is not None:
                    maps.append(SlotMap.unpack(slots))
                commands.update(saved_commands(companions))
            except (StoreError, OSError, *UNPACK_ERRORS):
                # When this drone is started, it says what is wrong with its state.
                continue
        latest = max(maps, key=lambda slots: slots.generation, default=None)
        return HiveView(map=latest, orders=orders_in(commands))

    def has(self, number: int) -> bool:
        """Return whether this drone has a state here."""
        return is_crawl(self.drone(number))

    def give_order(self, members: Iterable[int], lost: Iterable[int]) -> None:
        """Give an order for the members to a hive that does not run: into its drones' checkpoints.

        The first drone that enters the server brings the order there, and the others hear of it. So
        a kill between two drones leaves the order in force. Raise HiveError if no drone can take
        the order, or if one runs. The caller has the folder's lock.
        """
        given_up = sorted(lost)
        numbers = [
            number
            for number in sorted(filter(self.has, self._with_state()))
            if number not in given_up
        ]
        for number in numbers:
            if self.is_running(number):
                raise HiveError(
                    f"{self.drone(number)}: another process is using this drone's state"
                )
        command = Command(self._next_command_number(numbers), RESIZE, (sorted(members), given_up))
        receivers = 0
        for number in numbers:
            try:
                with closing(CrawlDB(self.drone(number) / "state")) as db:
                    companions = db.get(COMPANIONS)
                    if companions is not None:  # else no hive has let this drone in
                        db.set(COMPANIONS, with_command(companions, command))
                        db.checkpoint()
                        receivers += 1
            except DamagedFile:  # this drone cannot start, and may be given up next
                continue
            except StoreError as error:
                raise HiveError(str(error)) from error
        if not receivers:
            raise HiveError(f"{self.path}: no drone has taken a checkpoint yet: start the hive")

    def _next_command_number(self, drones: Iterable[int]) -> int:
        """Return a number for a command above those of all commands that these drones know.

        Numbers are the server's time in milliseconds, and its clock may be ahead of ours.
        """
        last = max((order.number for order in self.read_checkpoints().orders), default=0)
        for drone in drones:
            with suppress(StoreError, OSError, *UNPACK_ERRORS):
                (obeyed,) = self._saved(drone, OBEYED)
                last = max(last, obeyed_number(obeyed))
        return max(time.time_ns() // 1_000_000, last + 1)

    def take_over_orders(self, founding: Founding, view: HiveView) -> Founding:
        """Return the facts without the orders that only an earlier version wrote to hive.json.

        `view` is what `read_checkpoints` returns. If the checkpoints do not know the orders, write
        them there. A kill before the caller writes hive.json repeats this.
        """
        lost = {*founding.lost}.difference(founding.drones, founding.wanted)
        members = founding.wanted or founding.drones
        order = view.order or NO_ORDER
        knows_lost = order.lost >= lost
        knows_members = not founding.wanted or order.members == {*founding.wanted}
        after = replace(founding, lost=(), wanted=())
        if knows_lost and knows_members:
            return after
        # If no drone was in the hive, it is founded with the members that the order names.
        if not self.drones_let_in():
            founders = max(members) + 1
            return replace(after, founders=founders, drones=tuple(range(founders)))
        self.give_order(members, lost)
        return after

    def drones_let_in(self) -> tuple[int, ...]:
        """Return the drones that have a state here, without those that were never let in."""
        return tuple(sorted(number for number in self._with_state() if not self._is_empty(number)))

    def _with_state(self) -> Iterator[int]:
        """Yield the numbers of the drones that have a state here."""
        numbers = (number_of(folder.parent) for folder in self.path.glob("drone-*/state"))
        return (number for number in numbers if number is not None)

    def _saved(self, number: int, *names: str) -> list[bytes | None]:
        """Return what this drone's last checkpoint has under these names.

        Raise StoreError or OSError.
        """
        if not self.has(number):
            return [None for _ in names]
        with Snapshot(self.drone(number) / "state") as snapshot:
            return [snapshot.get(name) for name in names]

    def _is_empty(self, number: int) -> bool:
        """Return whether no hive has let this drone in: no checkpoint has anything of one.

        A state that cannot be read is not empty.
        """
        if self.figures(number) or not self.has(number):
            return False
        try:
            (key,) = self._saved(number, KEY)
        except (StoreError, OSError):
            return False
        return key is None

    def is_of(self, key: bytes, states: Collection[str]) -> bool:
        """Return whether this folder is that of the hive with this key and these states' ids.

        Both are compared: before its first checkpoint a drone has its id, and no key. A state that
        cannot be read may be of any hive.
        """
        return any(self._is_drone_of(number, key, states) for number in self._with_state())

    def _is_drone_of(self, number: int, key: bytes, states: Collection[str]) -> bool:
        try:
            saved_identity, saved_key = self._saved(number, IDENTITY, KEY)
            identity = unpack_identity(saved_identity)
        except (StoreError, OSError):
            return True
        return saved_key == key or (identity is not None and identity.id in states)

    def founding(self) -> Founding:
        """Return the facts of the hive. Raise HiveError if there is no hive here (see `read`)."""
        founding = self.read()
        if founding is None:
            raise HiveError(f"{self.path}: is not a hive: {HIVE} is missing")
        return founding

    def write(self, founding: Founding) -> None:
        """Replace hive.json as a whole, and sync it. Raise HiveError if it cannot be written.

        The caller has the folder's lock.
        """
        file = self.path / HIVE
        disk = Disk()
        values = {"version": VERSION, **asdict(founding)}
        for name in EARLIER_FIELDS:
            if not values[name]:
                del values[name]
        try:
            with replacing(disk, file, 0o666) as fd:  # as the umask says
                disk.write(fd, stats_file.plain(values).encode())
        except OSError as error:
            raise HiveError(f"{file}: cannot be written: {error.strerror or error}") from error

    def note_members(self, slots: SlotMap | None) -> None:
        """Note in hive.json which drones are members by this map, if the file says otherwise."""
        founding = self.founding()
        if slots is not None and slots.drones != founding.drones:
            self.write(replace(founding, drones=slots.drones))

    def lock(self) -> Lock:
        """Return the folder's lock, held until it is closed; make the folder if need be.

        Raise HiveError if another process has it.
        """
        try:
            with translate_os_errors(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
                return Lock(self.path)
        except StateLocked as error:
            raise HiveError(f"{self.path}: another process runs this hive") from error

    @property
    def is_supervised(self) -> bool:
        """Return whether a process runs this hive on this machine."""
        with translate_os_errors(self.path):
            return is_held(self.path)

    def is_finished(self, view: HiveView) -> bool:
        """Return whether all members have crawled to the end, as of their last checkpoints.

        `view` is what `read_checkpoints` returns.
        """
        members = {*(view.map.drones if view.map is not None else self.founding().drones)}
        if view.order is not None:
            members -= view.order.lost
        return bool(members) and all(map(self.has_ended, members))

    def has_ended(self, number: int) -> bool:
        """Return whether nothing was left to do for this drone when it last ran."""
        return self.figures(number).get("reason") == stats_file.FINISHED

    def is_changing(self, view: HiveView) -> bool:
        """Return whether the checkpoints have an order that is not carried out.

        `view` is what `read_checkpoints` returns. A drone that has given away all has ended, though
        a map may still have it among the leaving.
        """
        if view.map is None:
            return False
        leaving = tuple(drone for drone in view.map.leaving if not self.has_ended(drone))
        return replace(view, map=replace(view.map, leaving=leaving)).is_changing

    def is_running(self, number: int) -> bool:
        """Return whether a process has the JOBDIR of this drone."""
        state = self.drone(number) / "state"
        with translate_os_errors(state):
            return is_held(state)

    def figures(self, number: int) -> dict[str, Any]:
        """Return the drone's stats.json, as of its last checkpoint; empty if none can be read."""
        return stats_file.read(self.drone(number))


def _founding(file: Path, values: Any) -> Founding:
    """Return the facts that hive.json has. Raise HiveError if it is of another form or version."""
    if not isinstance(values, Mapping):
        raise HiveError(f"{file}: damaged: it is not a JSON object")
    if values.get("version") != VERSION:
        raise HiveError(
            f"{file}: has version {values.get('version')!r}, but this program reads "
            f"version {VERSION}"
        )
    try:
        founding = msgspec.convert(values, Founding)
    except msgspec.ValidationError as error:
        raise HiveError(f"{file}: damaged: {error}") from error
    return replace(founding, drones=tuple(sorted(founding.drones)))


def saved_figures(folder: HiveFolder) -> dict[str, Any]:
    """Return the figures of all drones by their stats.json, former members included."""
    return merged_figures(
        {"drone": number, **folder.figures(number)} for number in folder.all_drones()
    )


def merged_figures(stats: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of all drones as those of one crawl, whatever they have counted so far."""
    return {**ZERO_FIGURES, **merged(stats)}
