"""The folder of a hive on one machine: what hive.json says, and where its drones lie."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from webcrawl.crawl.hive.errors import ILLEGIBLE, CannotRead, HiveError, reading
from webcrawl.crawl.hive.member import IDENTITY, KEY, MAP, unpacked
from webcrawl.crawl.hive.partition import MOST_DRONES, SlotMap
from webcrawl.store.disk import Disk, appending, regular, replacing
from webcrawl.store.errors import StateLocked, StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import HIVE, VERSION, folder_of, hive_of, is_crawl, number_of
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lock import FileLock, Lock, is_held

# seconds in which another process has changed hive.json, and between two looks
PATIENCE, PAUSE = 10.0, 0.01
Text = Annotated[str, Meta(min_length=1)]
Number = Annotated[int, Meta(ge=0, le=MOST_DRONES)]
NEEDED = dict.fromkeys(("pages", "answers", "queued", "hosts", "failures", "bytes"), 0)


@dataclass(frozen=True, slots=True)
class Founding:
    """The facts of a hive that stay the same for its life, and the drones of the next start.

    `lost`: drones that were given up; servers that know nothing yet are told. `wanted`: those that
    shall share the web once a change of their number has ended; none if there is no such change.
    Until then `drones` has those that leave.
    """

    name: Text
    spider: Text
    partition: Text
    founders: Number  # how many drones it had at first: HIVE_DRONES of all of them
    drones: tuple[Number, ...]
    lost: tuple[Number, ...] = ()
    wanted: tuple[Number, ...] = ()


class HiveFolder:
    """`JOBDIR` of a hive: each drone has an ordinary JOBDIR below it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.server = path / "server"
        self.stats = path / stats_file.NAME

    def drone(self, number: int) -> Path:
        return folder_of(self.path, number)

    def log(self, number: int) -> Path:
        """Return the file with the drone's output."""
        return self.path / "logs" / f"drone-{number}.log"

    def check_logs(self, drones: Iterable[int]) -> None:
        """Raise HiveError if the output of a drone cannot be written: then no drone could start."""
        with reading(self.path):
            for log in map(self.log, drones):
                log.parent.mkdir(exist_ok=True)
                appending(log).close()

    def read(self) -> Founding | None:
        """Return the facts of the hive, or None if there is no hive yet.

        Raise HiveError for all else.
        """
        file = self.path / HIVE
        try:
            with reading(file):
                if file.exists():
                    with regular(file) as opened:
                        return _founding(file, json.load(opened))
                is_single = (self.path / "state").exists()
        except (ValueError, RecursionError) as error:
            raise HiveError(f"{file}: damaged: {error}") from error
        if is_single:
            raise HiveError(
                f"{self.path}: holds the crawl of a single process; use another JOBDIR for a hive"
            )
        return None

    def all_drones(self) -> tuple[int, ...]:
        """Return the drones that a start begins with, and those that were there once."""
        try:
            with reading(self.path):
                found = hive_of(self.path)
        except StoreError as error:
            raise CannotRead(str(error)) from error
        return found.drones if found else ()

    def saved_map(self) -> SlotMap | None:
        """Return the latest slot map that a checkpoint of a drone here has."""
        maps = (self._saved_map(number) for number in self._with_state())
        return max(filter(None, maps), key=lambda slots: slots.generation, default=None)

    def _saved_map(self, number: int) -> SlotMap | None:
        try:
            data = self._saved(number, MAP)
            return None if data is None else SlotMap.unpack(data)
        except (StoreError, OSError, *ILLEGIBLE):
            # this drone says itself what is wrong when it is started
            return None

    def leaving(self, slots: SlotMap | None, founding: Founding) -> set[int]:
        """Return the drones that have a state here and, by this map, have not been released."""
        gone = {*founding.lost}.difference(founding.drones, founding.wanted)
        return {
            drone for drone in (slots.leaving if slots else ()) if is_crawl(self.drone(drone))
        } - gone

    def begun(self) -> tuple[int, ...]:
        """Return the drones that have a state here, without those that were never let in."""
        return tuple(sorted(number for number in self._with_state() if not self._is_empty(number)))

    def _with_state(self) -> Iterator[int]:
        numbers = (number_of(folder.parent) for folder in self.path.glob("drone-*/state"))
        return (number for number in numbers if number is not None)

    def _saved(self, number: int, name: str) -> bytes | None:
        """Return what this drone's last checkpoint has under a name. Raise StoreError or OSError."""
        if not is_crawl(self.drone(number)):
            return None
        with Snapshot(self.drone(number) / "state") as snapshot:
            return snapshot.get(name)

    def _is_empty(self, number: int) -> bool:
        """Return whether no checkpoint of this drone has anything of a hive."""
        if self.figures(number) or not is_crawl(self.drone(number)):
            return False
        try:
            return self._saved(number, KEY) is None
        except (StoreError, OSError):
            return False

    def is_of(self, key: bytes, states: Collection[str]) -> bool:
        """Return whether this folder is that of the hive with this key and these states' ids.

        Before its first checkpoint a drone has only its id. A state that cannot be read may be of
        any hive.
        """
        return any(self._is_drone_of(number, key, states) for number in self._with_state())

    def _is_drone_of(self, number: int, key: bytes, states: Collection[str]) -> bool:
        try:
            identity = unpacked(self._saved(number, IDENTITY))
            return self._saved(number, KEY) == key or (
                identity is not None and identity.id in states
            )
        except (StoreError, OSError):
            return True

    def known(self) -> Founding:
        """Reads the folder; HiveError if there is no hive."""
        founding = self.read()
        if founding is None:
            raise HiveError(f"{self.path}: is not a hive: {HIVE} is missing")
        return founding

    def write(self, founding: Founding) -> None:
        """Replaces hive.json as a whole, for good. HiveError: it cannot be written."""
        file, disk = self.path / HIVE, Disk()
        try:
            # as the umask says: who changes it later opens it to write
            with replacing(disk, file, 0o666) as fd:
                disk.write(fd, stats_file.plain({"version": VERSION, **asdict(founding)}).encode())
        except OSError as error:
            raise HiveError(f"{file}: cannot be written: {error.strerror or error}") from error

    def change(self, changed: Callable[[Founding], Founding]) -> tuple[Founding, Founding]:
        """Change hive.json, and return it before and after; what others change meanwhile is kept.

        Raise HiveError if it cannot be read or written.
        """
        before = self.known()
        if changed(before) == before:
            return before, before
        with closing(self._alone()):
            before = self.known()
            after = changed(before)
            self.write(after)
            return before, after

    def _alone(self) -> FileLock:
        """Return the lock for changes of hive.json. It is held for moments."""
        file, end = self.path / HIVE, time.monotonic() + PATIENCE
        while True:
            try:
                return FileLock(file)
            except StateLocked as error:
                if time.monotonic() > end:
                    raise HiveError(f"{file}: another process is changing it") from error
            except OSError as error:
                raise HiveError(f"{file}: cannot be written: {error.strerror or error}") from error
            time.sleep(PAUSE)

    def lock(self) -> Lock:
        """Makes the folder if need be; held until it is closed.

        HiveError: another process has it.
        """
        try:
            with reading(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
                return Lock(self.path)
        except StateLocked as error:
            raise HiveError(f"{self.path}: another process runs this hive") from error

    @property
    def supervised(self) -> bool:
        """Return whether a process runs this hive on this machine, and follows its changes."""
        with reading(self.path):
            return is_held(self.path)

    @property
    def finished(self) -> bool:
        """Return whether all drones have crawled to the end, as of their last checkpoints."""
        drones = self.known().drones
        return bool(drones) and all(
            self.figures(number).get("reason") == stats_file.FINISHED for number in drones
        )

    def running(self, number: int) -> bool:
        """Return whether a process has the JOBDIR of this drone."""
        state = self.drone(number) / "state"
        with reading(state):
            return is_held(state)

    def figures(self, number: int) -> dict[str, Any]:
        """Return the drone's stats.json, as of its last checkpoint; empty if none can be read."""
        return stats_file.read(self.drone(number))


def _founding(file: Path, found: Any) -> Founding:
    if not isinstance(found, Mapping):
        raise HiveError(f"{file}: damaged: it is not a JSON object")
    if found.get("version") != VERSION:
        raise HiveError(
            f"{file}: has version {found.get('version')!r}, but this program reads "
            f"version {VERSION}"
        )
    try:
        founding = msgspec.convert(found, Founding)
    except msgspec.ValidationError as error:
        raise HiveError(f"{file}: damaged: {error}") from error
    return replace(founding, drones=tuple(sorted(founding.drones)))


def saved(folder: HiveFolder) -> dict[str, Any]:
    """Return the figures of all drones by their stats.json, former members included."""
    return total({"drone": number, **folder.figures(number)} for number in folder.all_drones())


def total(stats: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of all drones as those of one crawl, whatever they have counted so far."""
    return {**NEEDED, **merged(stats)}
