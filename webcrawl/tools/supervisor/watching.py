"""What a hive's launcher sees of it once a second, and which drones it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any, cast

from scrapy.settings import BaseSettings

from webcrawl.adapter.extensions.progress import ProgressDisplay
from webcrawl.base.readable import count
from webcrawl.crawl.hive.errors import Away, CannotRead, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder, saved, total
from webcrawl.crawl.hive.operator import HiveLook, Operator
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer
from webcrawl.crawl.hive.supervising import Supervisor
from webcrawl.tools.supervisor.servers import MakeOperator

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds


def drones_to_run(
    folder: HiveFolder,
    founding: Founding,
    look: HiveLook,
    ended: Collection[int] = (),
    lost: Collection[int] = (),
) -> list[int]:
    """Return the drones that are to run now: the members, those that leave, and those that join.

    `ended`: drones that have ended in this run because nothing was left for them to do. `lost`:
    drones that were given up, beside those of the order in force.
    """
    if look.map is None:  # no drone has entered the hive yet
        return [*founding.drones]
    members = {*look.map.drones}
    given_up = {*lost}
    if look.order is not None:
        given_up |= look.order.lost
        # A new drone that came first to an emptied server would found a hive. So it waits until a
        # drone has brought the order there.
        if look.places:
            members |= look.order.members
    leaving = {*filter(folder.has, look.map.leaving)}
    # The server may have let in a drone that a later order does not name. The queen waits until
    # this drone has said that it has nothing.
    let_in = {*filter(folder.has, look.drones)}
    # A server that was emptied has lost what a leaving drone said last. So the drone runs once
    # more, and says again that it has given away all.
    unheard = leaving - look.reports.keys()
    left = {*ended} - members - unheard
    # A drone that holds a lease and has no state here runs on another machine.
    elsewhere = {drone for drone in look.leases if not folder.has(drone)}
    return sorted((members | leaving | let_in) - left - elsewhere - given_up)


class HiveWatch:
    """Watches a hive. `figures` are of the last signs of life, or else the last checkpoints."""

    def __init__(
        self,
        folder: HiveFolder,
        make_operator: MakeOperator,
        server: EmbeddedServer | None,
        ended: Callable[[], Collection[int]],
    ) -> None:
        """`ended`: the drones that have ended because nothing was left for them to do."""
        self._folder = folder
        self._make_operator = make_operator
        self._server = server
        self._ended = ended
        self._lost: frozenset[int] = frozenset()  # all that were given up, as far as was heard
        saved_look = folder.look()
        is_changing = folder.is_changing(saved_look)
        # how many drones a change that is not complete leads to; 0: there is none
        self.goal = len(saved_look.sharing) if is_changing else 0
        self.drones: list[int] = []  # that are to run
        self._see(saved_look, folder.known(), is_changing=is_changing)
        self.figures: Mapping[str, Any] = saved(folder)
        # that may pass: of the last turn, and of this one
        self._troubles_before: set[str] = set()
        self._troubles: set[str] = set()
        self.trouble: Exception | None = None  # why it does not watch any more

    async def run(self) -> None:
        """Watch until it is cancelled, or in trouble."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            async with aclosing(self._make_operator()) as operator:
                # what cuts a connection may end with its failure instead
                while not task.cancelling():
                    await asyncio.sleep(INTERVAL)
                    await self._turn(operator)
        except Exception as error:
            self.trouble = error
            logger.critical("%s", error, exc_info=None if isinstance(error, HiveError) else error)

    async def _turn(self, operator: Operator) -> None:
        self._troubles_before, self._troubles = self._troubles, set()
        try:
            # before a server is started again in a folder that is gone
            self._see(self._seen, self._folder.known(), is_changing=self.goal > 0)
            self._check_server()
            await self._look(operator)
        except (CannotRead, OSError) as error:  # the drones go on
            self._say(str(error))

    def _say(self, why: str) -> None:
        """Warn, but only once of what stays as it is."""
        if why not in self._troubles_before | self._troubles:
            logger.warning("%s", why)
        self._troubles.add(why)

    def _check_server(self) -> None:
        try:
            if self._server is not None and self._server.check():
                logger.warning("the hive's server died and was restarted")
        except OSError as error:
            # no memory, no processes, no descriptors: the drones go on without it
            self._say(f"the hive's server died and cannot be restarted: {error.strerror or error}")

    async def _look(self, operator: Operator) -> None:
        look = HiveLook()
        try:
            look = await operator.look()
            if look.map is not None:  # else the server has been emptied
                self._see(look, self._folder.known(), is_changing=look.is_changing)
                self._folder.note_members(look.map)
        except CannotRead:  # no file of the checkpoints either
            raise
        except Away:
            pass
        except HiveError as error:  # a right is missing, or the disk is full, perhaps
            self._say(str(error))
        self.figures = total(
            look.reports[drone].stats()
            if drone in look.reports
            else {"drone": drone, **self._folder.figures(drone)}
            for drone in self._folder.all_drones()
        )

    def _see(self, look: HiveLook, founding: Founding, *, is_changing: bool) -> None:
        """Decide by this look which drones are to run, and say when a change is complete."""
        self._seen = look
        if look.order is not None:
            # A server that was emptied may hear of the order only from the second drone that comes.
            # A drone that was given up must not be started meanwhile: its state would be empty.
            self._lost = (self._lost - look.order.members) | look.order.lost
            if self.goal and not is_changing:
                logger.info("the hive now has %s", count(len(look.sharing), "drone"))
            self.goal = len(look.sharing) if is_changing else 0
        self.drones = drones_to_run(self._folder, founding, look, self._ended(), self._lost)


class HiveProgress(ProgressDisplay):
    """The progress of a hive, and how many of its drones run."""

    def __init__(self, settings: BaseSettings, watching: HiveWatch, supervisor: Supervisor) -> None:
        super().__init__(settings)
        self._watching = watching
        self._supervisor = supervisor

    def figures(self) -> Mapping[str, Any]:
        return self._watching.figures

    def line(self, figures: Mapping[str, Any], rate: float) -> str:
        down = self._supervisor.down
        away = f" ({', '.join(map(str, down))} down)" if down else ""
        drones = count(self._supervisor.running + len(down), "drone")
        return f"{super().line(figures, rate)}, {drones}{away}"

    def short_line(self, figures: Mapping[str, Any], rate: float) -> str:
        running, down = self._supervisor.running, len(self._supervisor.down)
        working = f"{running}/{running + down}" if down else str(running)
        return f"{super().short_line(figures, rate)}  drones {working}"
