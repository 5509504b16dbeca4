"""Looks at a hive's drones once a second, and decides which of them its launcher runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any, cast

from scrapy.settings import BaseSettings

from webcrawl.adapter.extensions.progress import ProgressDisplay
from webcrawl.base.readable import count
from webcrawl.crawl.hive.drone_supervisor import Supervisor
from webcrawl.crawl.hive.errors import Away, CannotRead, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder, merged_figures, saved_figures
from webcrawl.crawl.hive.operator import HiveView, Operator
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer
from webcrawl.tools.supervisor.servers import MakeOperator

logger = logging.getLogger(__name__)

WATCH_SECONDS = 1.0  # between two looks at the server


def drones_to_run(
    folder: HiveFolder,
    founding: Founding,
    hive: HiveView,
    ended: Collection[int] = (),
    lost: Collection[int] = (),
) -> list[int]:
    """Return the drones that are to run now: the members, those that leave, and those that join.

    `ended`: drones that have ended in this run because nothing was left for them to do. `lost`:
    drones that were given up, beside those of the order in force.
    """
    if hive.map is None:  # no drone has entered the hive yet
        return [*founding.drones]
    members = {*hive.map.drones}
    given_up = {*lost}
    if hive.order is not None:
        given_up |= hive.order.lost
        # A new drone that came first to an emptied server would found a hive. So it waits until a
        # drone has brought the order there.
        if hive.places:
            members |= hive.order.members
    leaving = {*filter(folder.has, hive.map.leaving)}
    # The server may have let in a drone that a later order does not name. The coordinator waits until
    # this drone has said that it has nothing.
    let_in = {*filter(folder.has, hive.drones)}
    # A server that was emptied has lost the last report of a leaving drone. So the drone runs once
    # more, and reports again that it has given away all.
    without_report = leaving - hive.reports.keys()
    is_done = {*ended} - members - without_report
    # A drone that holds a lease and has no state here runs on another machine.
    elsewhere = {drone for drone in hive.leases if not folder.has(drone)}
    return sorted((members | leaving | let_in) - is_done - elsewhere - given_up)


class HiveWatch:
    """Watches a hive while its launcher runs: which drones are to run, and the hive's figures.

    `drones` are those that are to run. `figures` are the sums of the drones' last reports, or of
    the last checkpoint of a drone without a report. `failure` is the error that has ended the
    watch, if one has.
    """

    def __init__(
        self,
        folder: HiveFolder,
        make_operator: MakeOperator,
        server: EmbeddedServer | None,
        ended_drones: Callable[[], Collection[int]],
    ) -> None:
        """`ended_drones`: returns the drones that have ended with nothing left for them to do.

        `server`: the hive's own, which is started again should it die.
        """
        self._folder = folder
        self._make_operator = make_operator
        self._server = server
        self._ended_drones = ended_drones
        self._given_up: frozenset[int] = frozenset()  # drones, by any order that was heard of
        saved_hive = folder.read_checkpoints()
        is_changing = folder.is_changing(saved_hive)
        # how many drones a change under way leads to; 0: none is under way
        self.intended_count = len(saved_hive.sharing) if is_changing else 0
        self.drones: list[int] = []
        self._take_in(saved_hive, folder.founding(), is_changing=is_changing)
        self.figures: Mapping[str, Any] = saved_figures(folder)
        # warnings of the last look and of this one: what lasts is said once
        self._warned_before: set[str] = set()
        self._warned: set[str] = set()
        self.failure: Exception | None = None

    async def run(self) -> None:
        """Watch until the task is cancelled, or until an error that does not pass (`failure`)."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            async with aclosing(self._make_operator()) as operator:
                # A cancellation that breaks a connection may come as the connection's failure.
                while not task.cancelling():
                    await asyncio.sleep(WATCH_SECONDS)
                    await self._watch_once(operator)
        except Exception as error:
            self.failure = error
            logger.critical("%s", error, exc_info=None if isinstance(error, HiveError) else error)

    async def _watch_once(self, operator: Operator) -> None:
        """Read the folder, have the hive's own server run, and ask it. Warn if one cannot be read."""
        self._warned_before = self._warned
        self._warned = set()
        try:
            # This raises if the folder is gone: no server is started again there.
            founding = self._folder.founding()
            self._take_in(self._hive, founding, is_changing=self.intended_count > 0)
            self._check_server()
            await self._ask_server(operator)
        except (CannotRead, OSError) as error:  # the drones run on
            self._warn(str(error))

    def _warn(self, why: str) -> None:
        """Log a warning, unless it was logged at this look or the last one."""
        if why not in self._warned_before | self._warned:
            logger.warning("%s", why)
        self._warned.add(why)

    def _check_server(self) -> None:
        """Start the hive's own server again if it has died."""
        try:
            if self._server is not None and self._server.check():
                logger.warning("the hive's server died and was restarted")
        except OSError as error:
            # no memory, no processes, no descriptors: the drones run on without a server
            self._warn(f"the hive's server died and cannot be restarted: {error.strerror or error}")

    async def _ask_server(self, operator: Operator) -> None:
        """Ask the server for the hive's members and figures. Raise CannotRead for a lost folder.

        While the server is away, the figures are those of the last checkpoints.
        """
        hive = HiveView()
        waits: dict[str, str] = {}
        try:
            hive = await operator.read_hive()
            if hive.map is not None:  # else the server has been emptied
                self._take_in(hive, self._folder.founding(), is_changing=hive.is_changing)
                self._folder.note_members(hive.map)
        except CannotRead:  # nor can the files of the checkpoints be read
            raise
        except Away:
            waits = {"waits": "the hive's server does not answer"}
        except HiveError as error:  # a right is missing, or the disk is full, perhaps
            self._warn(str(error))
        figures = merged_figures(
            hive.reports[drone].stats()
            if drone in hive.reports
            else {"drone": drone, **self._folder.figures(drone)}
            for drone in self._folder.all_drones()
        )
        self.figures = {**figures, **waits}

    def _take_in(self, hive: HiveView, founding: Founding, *, is_changing: bool) -> None:
        """Choose by the hive's state which drones are to run, and log when a change is complete."""
        self._hive = hive
        if hive.order is not None:
            # A server that was emptied may hear of the order only from the second drone that comes.
            # A drone that was given up must not be started meanwhile: its state would be empty.
            self._given_up = (self._given_up - hive.order.members) | hive.order.lost
            if self.intended_count and not is_changing:
                logger.info("the hive now has %s", count(len(hive.sharing), "drone"))
            self.intended_count = len(hive.sharing) if is_changing else 0
        ended = self._ended_drones()
        self.drones = drones_to_run(self._folder, founding, hive, ended, self._given_up)


class HiveProgress(ProgressDisplay):
    """Shows the progress of a hive, and how many of its drones run."""

    def __init__(self, settings: BaseSettings, watch: HiveWatch, supervisor: Supervisor) -> None:
        super().__init__(settings)
        self._watch = watch
        self._supervisor = supervisor

    def figures(self) -> Mapping[str, Any]:
        return self._watch.figures

    def line(self, figures: Mapping[str, Any], rate: float) -> str:
        down = self._supervisor.down
        which_down = f" ({', '.join(map(str, down))} down)" if down else ""
        drones = count(self._supervisor.running + len(down), "drone")
        return f"{super().line(figures, rate)}, {drones}{which_down}"

    def short_line(self, figures: Mapping[str, Any], rate: float) -> str:
        running = self._supervisor.running
        down = len(self._supervisor.down)
        working = f"{running}/{running + down}" if down else str(running)
        return f"{super().short_line(figures, rate)}  drones {working}"
