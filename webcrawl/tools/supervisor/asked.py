"""`scrapy ctl` of a hive: orders go to all drones by their server, questions to the sockets on this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from scrapy.settings import BaseSettings

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import program
from webcrawl.crawl.bound import PREFIX
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning, host_named
from webcrawl.crawl.control.commands import COMMANDS
from webcrawl.crawl.control.seed_sources import named, spooled
from webcrawl.crawl.control.wire import UNKEPT
from webcrawl.crawl.hive.drone_report import State
from webcrawl.crawl.hive.errors import AnotherHive, Away, HiveError
from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.crawl.hive.operator import Look
from webcrawl.crawl.hive.partition import partition_of
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.revisit_figures import PREFIX as REVISITS
from webcrawl.tools.supervisor.hive_orders import given, is_order, looked
from webcrawl.tools.supervisor.servers import Target
from webcrawl.urls.host_names import RegisteredDomains

OF_ONE_HOST = ("host", "queue", "robots", "about")  # by name or URL, which one drone knows
SUMMED = ("pages", "queued", "hosts", "failures")


class AskedHive:
    """One question, or order, to all drones that there are."""

    def __init__(self, settings: BaseSettings, place: str, patience: float, stdin: IO[bytes]) -> None:
        self._target = Target(settings, place)
        self._patience, self._stdin = patience, stdin

    def ask(self, name: str, *words: str) -> Any:
        """As Client.ask; HiveError and CannotStart besides."""
        look = self._look()
        if name not in COMMANDS:
            raise CommandError(f"{name[:40]!r} is no command; there are: {', '.join(COMMANDS)}")
        if name == "status":
            return status(look, self._left(look))
        if is_order(name, *words):
            answer = given(self._target, name, self._sources(look, words) if name == "seeds" else words)
            if COMMANDS[name].lasts(*words):
                self._check_away(look)
            return answer
        if name in OF_ONE_HOST and words:
            return self._client(look, self._owner(look, words[0])).ask(name, *words)
        if name in ("get", "excluded"):
            here = self._here(look) if self._target.folder is not None else []
            return self._client(look, min(here or look.leases)).ask(name, *words)
        here = self._here(look)
        return {"drones": [{"drone": drone, "answer": self._client(look, drone).ask(name, *words)} for drone in here]}

    def _look(self) -> Look:
        try:
            look = asyncio.run(looked(self._target.running()))
        except CannotStart as error:
            raise NotRunning(str(error)) from error
        except AnotherHive as error:
            raise NotRunning(f"{self._target.text}: {error}") from error
        except Away as error:  # its drones may run all the same
            raise NotRunning(f"{self._target.text}: the hive's server is {error.state}: {error}") from error
        if not look.leases:
            raise NotRunning(f"{self._target.text}: no drone of this hive is running")
        return look

    def _left(self, look: Look) -> list[dict[str, Any]]:
        """The figures of drones that have left: what they fetched stays the hive's."""
        folder = self._target.folder
        return [folder.figures(drone) for drone in folder.all_drones() if drone not in look.drones] if folder else []

    def _check_away(self, look: Look) -> None:
        """NoAnswer if a drone has not heard of an order, of which a server of the hive's own alone knows.

        That server forgets all if it is killed. The drones that answered have the order in their checkpoints.
        """
        members = look.map.drones if look.map is not None else ()
        away = [drone for drone in members if drone not in look.leases]
        if away and self._target.has_own_server:
            raise NoAnswer(f"{UNKEPT}drone {away[0]} is away, and hears of it only if the server lives until then")

    # -- which drone

    def _owner(self, look: Look, word: str) -> int:
        """The drone to which a host, or that of a URL, belongs."""
        founding = self._target.founding
        if founding is None or look.map is None:
            raise CommandError(f"{word}: name the hive by its JOBDIR, which says how the web is divided")
        return look.map.owners[partition_of(founding.partition, RegisteredDomains()).slot(host_named(word))]

    def _here(self, look: Look) -> list[int]:
        """The drones that run in folders of this one on this machine."""
        folder = self._target.folder
        if folder is None:
            raise CommandError(f"{self._target.text}: for that, name the hive by its JOBDIR")
        return [drone for drone in sorted(look.leases) if _is_here(look, drone, folder)]

    def _client(self, look: Look, drone: int) -> Client:
        """CommandError with the place of a drone that cannot be asked from here."""
        folder = self._target.folder
        if folder is None or not _is_here(look, drone, folder):
            report, (host, pid) = look.reports.get(drone), look.places.get(drone, ("", 0))
            where = f"{host}:{report.jobdir if report else ''} (process {pid})"
            raise CommandError(f"that is drone {drone}'s, which runs elsewhere: {program()} ctl on {where}")
        return Client(folder.drone(drone), self._patience)

    # -- seeds

    def _sources(self, look: Look, words: Sequence[str]) -> Sequence[str]:
        """Each drone reads all seeds, and keeps its own."""
        given_ = [word for place, word in enumerate(words) if place or word != "add"]
        if given_.count("-") > 1:
            raise CommandError("usage: seeds add SRC…; - is standard input, once")
        if not given_:
            return words
        lists = [word if word == "-" else named(word) for word in given_]  # all, before anything is written
        return ["add", *(self._spool(look) if word == "-" else word for word in lists)]

    def _spool(self, look: Look) -> str:
        """Standard input, in the hive's folder, where a drone that joins later finds it too."""
        folder = self._target.folder
        if folder is None or self._here(look) != sorted(look.leases):
            raise CommandError("-: drones on other machines cannot read it: name a list that all can read")
        return spooled(folder.path, self._stdin)


def _is_here(look: Look, drone: int, folder: HiveFolder) -> bool:
    host, _ = look.places.get(drone, ("", 0))
    report = look.reports.get(drone)
    same = report is None or Path(report.jobdir).resolve() == folder.drone(drone).resolve()
    return host == socket.gethostname() and same and folder.drone(drone).is_dir()


def status(look: Look, left: Sequence[Mapping[str, Any]] = ()) -> Mapping[str, Any]:
    """The drones' figures, and their sums, as of their last heartbeats; of drones that are away as of their last.

    The sums have those of drones that have `left`, too.
    """
    rows = [_row(look, drone) for drone in look.drones]
    there = [State(row["state"]) for row in rows if row["drone"] in look.leases]
    reports = [look.reports[drone].figures for drone in look.drones if drone in look.reports]
    total = merged([*reports, *left])
    alike = there[0] if there and len(set(there)) == 1 else State.RUNNING
    return {
        "state": str(alike if alike in (State.PAUSED, State.STOPPING) else State.RUNNING),
        "seconds": max((row["seconds"] for row in rows), default=0.0),
        **{name: total.get(name, 0) for name in SUMMED},
        **{name: total[name] for name in sorted(total) if name.startswith((PREFIX, REVISITS))},
        "drones": rows,
    }


def _row(look: Look, drone: int) -> dict[str, Any]:
    report, there = look.reports.get(drone), drone in look.leases
    figures = report.figures if report is not None else {}
    host, _ = look.places.get(drone, ("", 0))
    return {
        "drone": drone,
        "state": str(report.state) if report is not None and there else "running" if there else "away",
        "seconds": round(report.seconds, 1) if report is not None else 0.0,
        **{name: figures.get(name, 0) for name in SUMMED},
        "trouble": report.trouble if report is not None else "",
        "place": f"{host}:{report.jobdir}" if report is not None else host,
    }


REFUSALS = (HiveError, CannotStart)
