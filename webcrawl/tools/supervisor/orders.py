"""`webcrawl ctl` of a hive: orders go to all drones by the server, questions to local sockets."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Collection, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any

from scrapy.settings import BaseSettings

from webcrawl.base.program import program
from webcrawl.base.readable import count, text_without_credentials
from webcrawl.crawl.control.client import UNKEPT, Client, sources_of, spooled
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning, host_named
from webcrawl.crawl.control.commands import COMMANDS, checked
from webcrawl.crawl.control.exclusions import dated
from webcrawl.crawl.hive.errors import AnotherHive, Away, Full
from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.crawl.hive.operator import HiveLook, Operator
from webcrawl.crawl.hive.partition import WAYS, partition_of
from webcrawl.tools.supervisor.hive_status import progress
from webcrawl.tools.supervisor.servers import HiveTarget, MakeOperator
from webcrawl.urls.host_names import RegisteredDomains

FOR_ALL = ("stop", "pause", "resume", "checkpoint", "exclude", "include", "seeds", "set")
OF_ONE_HOST = ("host", "queue", "robots", "about")  # by name or URL, which one drone knows
PATIENCE = 60.0  # seconds in which a command is in force on every drone that is there
LOOKS = 0.5  # seconds between two


def is_order(name: str, *words: str) -> bool:
    """Return whether such a command goes to all drones: also what lasts of a host, which moves."""
    return name in FOR_ALL or (bool(words) and name in COMMANDS and COMMANDS[name].lasts(*words))


class HiveClient:
    """One question, or order, to all drones that there are."""

    def __init__(
        self, settings: BaseSettings, place: str, patience: float, stdin: IO[bytes]
    ) -> None:
        self._target = HiveTarget(settings, place)
        self._patience = patience
        self._stdin = stdin

    def ask(self, name: str, *words: str) -> Any:
        """Ask as Client.ask does. May also raise HiveError, or CannotStart if the folder holds no hive."""
        look = self._look()
        if name not in COMMANDS:
            raise CommandError(
                f"{name[:40]!r} is not a command; the commands are {', '.join(COMMANDS)}"
            )
        if name == "status":
            return progress(look, self._left(look))
        if name == "seeds":  # each drone reads all of them, and keeps its own
            words = ("add", *sources_of(words, lambda: self._spool(look)))
        if is_order(name, *words):
            return self._order(look, name, words)
        if name in OF_ONE_HOST and words:
            return self._client(look, self._owner(look, words[0])).ask(name, *words)
        if name in ("get", "excluded"):
            return self._client(look, min(self._here(look) or look.leases)).ask(name, *words)
        here = self._here(look)
        if not here:
            raise CommandError(
                f"{self._target.text}: no drone runs on this machine; give the folder of a drone, on "
                "its machine"
            )
        return {
            "drones": [
                {"drone": drone, "answer": self._client(look, drone).ask(name, *words)}
                for drone in here
            ]
        }

    def _look(self) -> HiveLook:
        try:
            look = self._target.look()
        except AnotherHive as error:
            raise NotRunning(f"{self._target.text}: {error}") from error
        except Away as error:  # its drones may run all the same
            raise NotRunning(
                f"{self._target.text}: the hive's server is {error.state}: {error}"
            ) from error
        if not look.leases:
            raise NotRunning(f"{self._target.text}: no drone of this hive is running")
        return look

    def _left(self, look: HiveLook) -> list[dict[str, Any]]:
        """Return the figures of drones that have left: what they fetched stays the hive's."""
        folder = self._target.folder
        return (
            [folder.figures(drone) for drone in folder.all_drones() if drone not in look.drones]
            if folder
            else []
        )

    def _order(self, look: HiveLook, name: str, words: Sequence[str]) -> str:
        """Give a command to all drones. Raise NoAnswer: the crawl may carry it out, or not."""
        checked(name, *words)
        if name == "exclude":
            words = dated(words, time.time())
        order = given(self._target.running(), self._target.folder, look.leases.keys(), name, words)
        answer = asyncio.run(order)
        if COMMANDS[name].lasts(*words):
            self._check_away(look, name)
        return answer

    def _check_away(self, look: HiveLook, name: str) -> None:
        """Raise NoAnswer if a drone has not heard of an order that the hive's server has.

        That server forgets all if it is killed. The drones that answered have the order in their
        checkpoints. An owner who wants to be left alone is told the truth in any case: the drone
        may only be cut off.
        """
        members = look.map.drones if look.map is not None else ()
        away = [drone for drone in members if drone not in look.leases]
        if away and name == "exclude" and not self._target.has_own_server:
            raise NoAnswer(
                f"{UNKEPT}drone {away[0]} is not running, and receives the command when it is back"
            )
        if away and self._target.has_own_server:
            raise NoAnswer(
                f"{UNKEPT}drone {away[0]} is not running, and receives the command only if the "
                "server keeps running until it is back"
            )

    # -- which drone

    def _owner(self, look: HiveLook, word: str) -> int:
        """Return the drone to which a host, or that of a URL, belongs."""
        founding = self._target.founding
        way = founding.partition if founding is not None else look.partition
        is_known = founding is not None or way in WAYS  # else drones have a file of regions
        if not is_known or look.map is None:
            raise CommandError(
                f"{word}: the server does not tell which drone has it; give the folder of a drone, on "
                "its machine"
            )
        partition = partition_of(way, RegisteredDomains()).dividing(look.map)
        return look.map.owners[partition.slot(host_named(word))]

    def _here(self, look: HiveLook) -> list[int]:
        """Return the drones that run on this machine, and in the hive's folder if that is given."""
        folder = self._target.folder
        return [drone for drone in sorted(look.leases) if _jobdir_here(look, drone, folder)]

    def _client(self, look: HiveLook, drone: int) -> Client:
        """CommandError with the place of a drone that cannot be asked from here."""
        jobdir = _jobdir_here(look, drone, self._target.folder)
        if jobdir is None:
            report, (host, pid) = look.reports.get(drone), look.places.get(drone, ("", 0))
            where = f"{host}:{report.jobdir if report else ''} (process {pid})"
            raise CommandError(
                f"this belongs to drone {drone}, which runs elsewhere: run `{program()} ctl` there, on {where}"
            )
        return Client(jobdir, self._patience)

    def _spool(self, look: HiveLook) -> str:
        """Standard input, in the hive's folder, where a drone that joins later finds it too."""
        folder = self._target.folder
        if folder is None or self._here(look) != sorted(look.leases):
            raise CommandError(
                "-: drones on other machines cannot read standard input: give a list that all can read"
            )
        return spooled(folder.path, self._stdin)


def _jobdir_here(look: HiveLook, drone: int, folder: HiveFolder | None) -> Path | None:
    """Return the drone's JOBDIR if it is on this machine, and in the hive's folder if one is given."""
    host, _ = look.places.get(drone, ("", 0))
    report = look.reports.get(drone)
    said = Path(report.jobdir) if report is not None else None
    jobdir = folder.drone(drone) if folder is not None else said
    if host != socket.gethostname() or jobdir is None or not jobdir.is_dir():
        return None
    is_same = said is None or said.resolve() == jobdir.resolve()
    return jobdir if is_same else None


async def given(
    make_operator: MakeOperator,
    folder: HiveFolder | None,
    there: Collection[int],
    name: str,
    words: Sequence[str],
) -> str:
    """Give a command to the drones that are there; wait until their checkpoints have it.

    CommandError: they do not carry it out. NoAnswer: they may do it yet.
    """
    try:
        async with aclosing(make_operator()) as operator:
            number = await operator.command(name, *words)
            look = await _look_after(operator, name, number)
    except Away as error:
        if name != "stop" or not await _ends(folder):  # the server of a hive ends with it
            kind = CommandError if isinstance(error, Full) else NoAnswer
            raise kind(
                f"the hive's server is {error.state}: {text_without_credentials(str(error))}"
            ) from error
        return f"{name}: done by {count(len(there), 'drone')}"
    _check_refusals(look, number)
    if name == "stop":
        return f"{name}: done by {count(len(there), 'drone')}"
    away = [drone for drone in sorted(there) if drone not in look.leases]
    missed = [str(drone) for drone in away if _is_missed(look, drone, number)]
    if missed:
        raise NoAnswer(
            f"{name}: drones {', '.join(missed)} ended before they answered; they receive the "
            "command when they are back"
        )
    done = [drone for drone in there if _has_carried_out(look, drone, number)]
    return f"{name}: done by {count(len(done), 'drone')}"


async def _look_after(operator: Operator, name: str, number: int) -> HiveLook:
    """Return a look at the hive once all drones have answered the command of this number.

    Raise NoAnswer if a drone takes too long.
    """
    end = time.monotonic() + PATIENCE
    while True:
        look = await operator.look()
        waiting = look.behind(number)
        if not waiting:
            return look
        if time.monotonic() > end:
            drones = ", ".join(map(str, waiting))
            raise NoAnswer(
                f"{name}: drones {drones} have not answered yet; they will receive the command"
            )
        await asyncio.sleep(LOOKS)


def _check_refusals(look: HiveLook, number: int) -> None:
    """Raise CommandError if a drone has refused the command of this number."""
    refusals = []
    for drone, report in look.reports.items():
        why = report.refusal(number)
        if why:
            refusals.append(f"refused by drone {drone}: {why}")
    if refusals:
        raise CommandError("; ".join(refusals))


async def _ends(folder: HiveFolder | None) -> bool:
    """Wait for the end of the process that runs the hive of this folder.

    False if it goes on, or is not known.
    """
    end = time.monotonic() + PATIENCE
    while folder is not None and folder.supervised and time.monotonic() < end:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(LOOKS)
    return folder is not None and not folder.supervised


def _has_carried_out(look: HiveLook, drone: int, number: int) -> bool:
    return drone in look.reports and look.reports[drone].applied >= number


def _is_missed(look: HiveLook, drone: int, number: int) -> bool:
    """Return whether a drone of the hive has not carried it out; who gave all away need not."""
    has_left = look.map is not None and drone not in {*look.map.drones, *look.map.leaving}
    return not has_left and not _has_carried_out(look, drone, number)
