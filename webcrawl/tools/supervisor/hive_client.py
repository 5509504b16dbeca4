"""`webcrawl ctl` of a hive: orders go to all drones by the server, questions to local sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing, suppress
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
from webcrawl.crawl.hive.operator import HiveView, Operator
from webcrawl.crawl.hive.partition import WAYS, partition_of
from webcrawl.tools.supervisor.hive_status import hive_progress, jobdir_here, without_ended
from webcrawl.tools.supervisor.servers import HiveTarget, MakeOperator
from webcrawl.urls.host_names import RegisteredDomains

# Commands that go to all drones, and questions about a host or URL, which only its drone can answer.
ORDERS = ("stop", "pause", "resume", "checkpoint", "exclude", "include", "seeds", "set")
HOST_QUESTIONS = ("host", "queue", "robots", "about")
ORDER_SECONDS = 60.0  # in which a command is in force on every drone that is there
LOOK_SECONDS = 0.5  # between two looks at the server


def is_order(name: str, *words: str) -> bool:
    """Return whether this command goes to all drones.

    What lasts of a host does too: the host may move to another drone.
    """
    if name in ORDERS:
        return True
    return bool(words) and name in COMMANDS and COMMANDS[name].lasts(*words)


class HiveClient:
    """Asks one question of the drones of a hive, or gives one order to all of them."""

    def __init__(
        self, settings: BaseSettings, place: str, patience: float, stdin: IO[bytes]
    ) -> None:
        """`place`: the hive's folder, or its server's URL. `patience`: seconds for a drone's answer."""
        self._target = HiveTarget(settings, place)
        self._patience = patience
        self._stdin = stdin

    def ask(self, name: str, *words: str) -> Any:
        """Return the answer to a command, as Client.ask does.

        Raise HiveError too, and CannotStart if the folder holds no hive.
        """
        hive = self._ask_server()
        if name not in COMMANDS:
            raise CommandError(
                f"{name[:40]!r} is not a command; the commands are {', '.join(COMMANDS)}"
            )
        if name == "status":
            return self._progress(hive)
        if name == "seeds":  # each drone reads all of them, and keeps its own
            words = ("add", *sources_of(words, lambda: self._spool_stdin(hive)))
        if is_order(name, *words):
            return self._give_order(hive, name, words)
        if name in HOST_QUESTIONS and words:
            return self._ask_owner(hive, name, words)
        drones_here = self._drones_here(hive)
        if name in ("get", "excluded"):  # every drone has the same answer
            drone = min(drones_here or hive.leases)
            return self._client_of(hive, drone).ask(name, *words)
        if not drones_here:
            raise CommandError(
                f"{self._target.text}: no drone runs on this machine; give the folder of a drone, on "
                "its machine"
            )
        answers = {drone: _elsewhere(hive, drone) for drone in sorted(hive.leases)}
        for drone in drones_here:
            try:
                answers[drone] = self._client_of(hive, drone).ask(name, *words)
            except NotRunning as error:  # it was killed, and its lease is not over
                answers[drone] = str(error)
        return {"drones": [{"drone": drone, "answer": answer} for drone, answer in answers.items()]}

    def _ask_server(self) -> HiveView:
        """Return what the server knows. Raise NotRunning if none answers, or no drone is alive."""
        try:
            hive = self._target.ask_server()
        except AnotherHive as error:
            raise NotRunning(f"{self._target.text}: {error}") from error
        except Away as error:  # its drones may run all the same
            raise NotRunning(
                f"{self._target.text}: the hive's server is {error.state}: {error}"
            ) from error
        self._check_alive(hive)
        return hive

    def _check_alive(self, hive: HiveView) -> None:
        if hive.leases:
            return
        folder = self._target.folder
        if folder is not None and any(map(folder.is_running, folder.all_drones())):
            # A server that is full, or a replica, answers here and renews no lease
            raise NotRunning(
                f"{self._target.text}: drones run here, but none has reached the hive's server of "
                "late: their logs say why"
            )
        raise NotRunning(
            f"{self._target.text}: no drone of a hive named {self._target.name} is running there"
        )

    def _progress(self, hive: HiveView) -> Mapping[str, Any]:
        """Return the answer to `status`. Raise NotRunning if the processes of all drones have ended."""
        hive = without_ended(hive, self._target.folder)
        self._check_alive(hive)
        progress = hive_progress(hive, self._figures_of_former_drones(hive))
        return {**progress, "in_force": self._orders_in_force(hive)}

    def _figures_of_former_drones(self, hive: HiveView) -> list[dict[str, Any]]:
        """Return the figures of drones that have left the hive: their pages stay the hive's."""
        folder = self._target.folder
        if folder is None:
            return []
        return [folder.figures(drone) for drone in folder.all_drones() if drone not in hive.drones]

    def _orders_in_force(self, hive: HiveView) -> list[str]:
        """Return the commands in force, as the first drone that answers here has them.

        Each drone has the commands to all.
        """
        for drone in self._drones_here(hive):
            with suppress(NotRunning, CommandError):
                status = self._client_of(hive, drone).ask("status")
                return [str(line) for line in status.get("in_force", ())]
        return []

    def _give_order(self, hive: HiveView, name: str, words: Sequence[str]) -> str:
        """Give a command to all drones, and return what to tell the user.

        Raise NoAnswer if the crawl may carry the command out, or may not.
        """
        checked(name, *words)
        if name == "exclude":
            words = dated(words, time.time())
        maker = self._target.operator_maker()
        answer = asyncio.run(
            order_drones(maker, self._target.folder, hive.leases.keys(), name, words)
        )
        if COMMANDS[name].lasts(*words):
            self._check_members_heard(hive, name)
        return answer

    def _check_members_heard(self, hive: HiveView, name: str) -> None:
        """Raise NoAnswer if a member has not heard of an order that the hive's server has.

        That server forgets all if it is killed. The drones that answered have the order in their
        checkpoints. An owner who wants to be left alone is told the truth in any case: the drone
        may only be cut off.
        """
        members = hive.map.drones if hive.map is not None else ()
        away = [drone for drone in members if drone not in hive.leases]
        if not away:
            return
        if self._target.has_own_server:
            raise NoAnswer(
                f"{UNKEPT}drone {away[0]} is not running, and receives the command only if the "
                "server keeps running until it is back"
            )
        if name == "exclude":
            raise NoAnswer(
                f"{UNKEPT}drone {away[0]} is not running, and receives the command when it is back"
            )

    # -- which drone

    def _ask_owner(self, hive: HiveView, name: str, words: Sequence[str]) -> Any:
        """Return the answer of the drone to which the host or URL in the first word belongs."""
        owner = self._owner_of(hive, words[0])
        try:
            return self._client_of(hive, owner).ask(name, *words)
        except NotRunning as error:
            raise NotRunning(f"this belongs to drone {owner}: {error}") from error

    def _owner_of(self, hive: HiveView, word: str) -> int:
        """Return the drone to which a host belongs, or the host of a URL.

        Raise CommandError if the partition is not known here.
        """
        founding = self._target.founding
        way = founding.partition if founding is not None else hive.partition
        # The server alone does not have the file of regions that drones may divide hosts by.
        is_known = founding is not None or way in WAYS
        if not is_known or hive.map is None:
            raise CommandError(
                f"{word}: the server does not tell which drone has it; give the folder of a drone, on "
                "its machine"
            )
        partition = partition_of(way, RegisteredDomains()).with_slots_of(hive.map)
        return hive.map.owners[partition.slot(host_named(word))]

    def _drones_here(self, hive: HiveView) -> list[int]:
        """Return the drones that run on this machine, and in the hive's folder if that is given."""
        folder = self._target.folder
        return [drone for drone in sorted(hive.leases) if jobdir_here(hive, drone, folder)]

    def _client_of(self, hive: HiveView, drone: int) -> Client:
        """Return a client of this drone. Raise CommandError if the drone runs elsewhere."""
        jobdir = jobdir_here(hive, drone, self._target.folder)
        if jobdir is None:
            raise CommandError(f"this belongs to drone {drone}, which {_elsewhere(hive, drone)}")
        return Client(jobdir, self._patience)

    def _spool_stdin(self, hive: HiveView) -> str:
        """Write standard input to a file, and return its path.

        The file is in the hive's folder: a drone that joins later finds it too. Raise CommandError
        if a drone runs on another machine.
        """
        folder = self._target.folder
        if folder is None or self._drones_here(hive) != sorted(hive.leases):
            raise CommandError(
                "-: drones on other machines cannot read standard input: give a list that all can read"
            )
        return spooled(folder.path, self._stdin)


async def order_drones(
    make_operator: MakeOperator,
    folder: HiveFolder | None,
    there: Collection[int],
    name: str,
    words: Sequence[str],
) -> str:
    """Give a command to all drones, wait for their answers, and return what to tell the user.

    `webcrawl ctl` and the dashboard call this for each command that goes to all drones
    (`is_order`). The hive's server numbers and keeps the command. Each drone that is alive reads it
    there, and reports its number once its own checkpoint has it: then a kill undoes nothing.

    `folder`: of the hive, if it is on this machine. `there`: the drones that were alive when the
    command was given.

    Raise CommandError if the drones do not carry the command out, or NoAnswer if they may do so
    yet.
    """
    try:
        async with aclosing(make_operator()) as operator:
            number = await operator.command(name, *words)
            hive = await _wait_for_answers(operator, name, number)
    except Away as error:
        # The server of a hive ends with the hive.
        has_stopped = name == "stop" and await _wait_for_end(folder)
        if not has_stopped:
            raise _server_failure(error) from error
        return _done_by(there, name)
    _check_refusals(hive, number)
    if name == "stop":  # the drones end, and most are gone by now
        return _done_by(there, name)
    _check_ended(hive, there, name, number)
    return _done_by([drone for drone in there if _has_carried_out(hive, drone, number)], name)


def _server_failure(error: Away) -> CommandError | NoAnswer:
    """Return the error to raise if the hive's server was away during a command.

    A server that is full has not taken the command; any other may have.
    """
    text = f"the hive's server is {error.state}: {text_without_credentials(str(error))}"
    return CommandError(text) if isinstance(error, Full) else NoAnswer(text)


def _done_by(drones: Collection[int], name: str) -> str:
    return f"{name}: done by {count(len(drones), 'drone')}"


async def _wait_for_answers(operator: Operator, name: str, number: int) -> HiveView:
    """Return what the server knows once all drones have answered the command of this number.

    Raise NoAnswer if a drone takes longer than ORDER_SECONDS.
    """
    end = time.monotonic() + ORDER_SECONDS
    while True:
        hive = await operator.read_hive()
        waiting = hive.behind(number)
        if not waiting:
            return hive
        if time.monotonic() > end:
            raise NoAnswer(f"{name}: no answer yet from {_named(waiting)}, which will receive it")
        await asyncio.sleep(LOOK_SECONDS)


def _check_refusals(hive: HiveView, number: int) -> None:
    """Raise CommandError if a drone has refused the command of this number."""
    refusals = []
    for drone, report in hive.reports.items():
        why = report.refusal(number)
        if why:
            refusals.append(f"refused by drone {drone}: {why}")
    if refusals:
        raise CommandError("; ".join(refusals))


async def _wait_for_end(folder: HiveFolder | None) -> bool:
    """Wait until the process that runs the hive of this folder has ended; return whether it has.

    Return False if it runs on for ORDER_SECONDS, or if the folder is not known.
    """
    if folder is None:
        return False
    end = time.monotonic() + ORDER_SECONDS
    while folder.is_supervised and time.monotonic() < end:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(LOOK_SECONDS)
    return not folder.is_supervised


def _check_ended(hive: HiveView, there: Collection[int], name: str, number: int) -> None:
    """Raise NoAnswer if drones that were there have ended without carrying the command out."""
    away = [drone for drone in sorted(there) if drone not in hive.leases]
    missed = [drone for drone in away if _is_missed(hive, drone, number)]
    if missed:
        raise NoAnswer(
            f"{name}: {_named(missed)} ended without an answer, and will receive the command when back"
        )


def _elsewhere(hive: HiveView, drone: int) -> str:
    """Return that this drone runs on another machine, and where."""
    report = hive.reports.get(drone)
    host, pid = hive.places.get(drone, ("", 0))
    where = f"{host}:{report.jobdir if report else ''} (process {pid})"
    return f"runs elsewhere: run `{program()} ctl` there, on {where}"


def _named(drones: Sequence[int]) -> str:
    """Return these drones in words: `drone 1`, or `drones 1, 2`."""
    return f"drone{'s' if len(drones) > 1 else ''} {', '.join(map(str, drones))}"


def _has_carried_out(hive: HiveView, drone: int, number: int) -> bool:
    return drone in hive.reports and hive.reports[drone].applied >= number


def _is_missed(hive: HiveView, drone: int, number: int) -> bool:
    """Return whether a drone should have carried the command out, and has not.

    A drone that has left the hive, and given away all that it had, need not.
    """
    has_left = hive.map is not None and drone not in {*hive.map.drones, *hive.map.leaving}
    return not has_left and not _has_carried_out(hive, drone, number)
