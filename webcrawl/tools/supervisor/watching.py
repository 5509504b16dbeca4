"""What a hive's process sees of it once a second; and how a change of its drones goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from scrapy.settings import BaseSettings

from webcrawl.adapter.extensions.progress import ProgressDisplay
from webcrawl.base.readable import count
from webcrawl.crawl.hive.errors import Away, CannotRead, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder, saved, total
from webcrawl.crawl.hive.operator import HiveLook, Operator, waits_for
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer
from webcrawl.crawl.hive.supervising import Supervisor
from webcrawl.tools.supervisor.servers import MakeOperator

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds
LAST = 2.0  # seconds for the look after the end


# A change of the number of drones, which hive.json follows whatever dies meanwhile.
#
# `webcrawl hive resize` writes what is wanted, and waits. All else is for the process that runs the
# hive: that process alone knows which drones have `ended` in this run because they had nothing left
# to do. No look at the server can tell that after it was emptied.


def to_run(
    folder: HiveFolder, founding: Founding, look: HiveLook, ended: Collection[int]
) -> list[int]:
    """Return the drones that are to run now. One that has left begins anew if wanted.

    So does one that the map still has among the leaving, and of which the server knows nothing: it
    has to say once more that it has nothing left. Whatever hive.json says, the crawl waits for it.
    """
    leaving = folder.leaving(look.map, founding)
    members = founding.wanted or founding.drones
    left = {*ended}.difference(members, leaving - look.reports.keys())
    return sorted(leaving.union(founding.drones) - left)


def followed(
    folder: HiveFolder, founding: Founding, look: HiveLook, ended: Collection[int]
) -> Founding:
    """Return the founding that hive.json is to have now.

    The new drones come in when the server knows of the change, for it lets in only those that it
    expects. Those that are to leave stay until they have ended; but not one that never came, and
    now shall not.
    """
    wanted = {*founding.wanted}
    if not wanted or look.wanted != wanted:
        return founding
    leaving = {
        drone for drone in founding.drones if drone in look.drones or folder.figures(drone)
    } - wanted
    # the crawl may be over meanwhile
    there = {**dict.fromkeys(wanted.intersection(ended), 0.0), **look.leases}
    if leaving <= {*ended} and not waits_for(
        replace(look, leases=there), wanted, lost_in(founding)
    ):
        return replace(founding, drones=tuple(sorted(wanted)), wanted=())
    return replace(founding, drones=tuple(sorted(wanted | leaving)))


def lost_in(founding: Founding) -> set[int]:
    """Return the drones whose state is gone and whose number no drone has taken since."""
    return {*founding.lost} - {*founding.drones} - {*founding.wanted}


async def repeat_change(operator: Operator, look: HiveLook, founding: Founding) -> None:
    """Tell a server who shall share the web if it does not know, or has lost it."""
    if founding.wanted and look.wanted != {*founding.wanted}:
        await operator.resize(founding.wanted, lost_in(founding))


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
        self._seen = HiveLook(map=folder.saved_map())  # at first what the checkpoints know
        self.drones = to_run(folder, folder.known(), self._seen, ended())
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
            known = self._folder.known()
            self.drones = to_run(self._folder, known, self._seen, self._ended())
            self._check_server()
            await self._look(operator)
        except (CannotRead, OSError) as error:  # the drones go on
            self._say(str(error))

    def _say(self, why: str) -> None:
        """Warn, but only once of what stays as it is."""
        if why not in self._troubles_before | self._troubles:
            logger.warning("%s", why)
        self._troubles.add(why)

    async def last(self) -> None:
        """See, when all drones have ended, whether a change of their number had, too."""
        async with aclosing(self._make_operator()) as operator:
            try:
                async with asyncio.timeout(LAST):
                    self._follow(await operator.look())
            except (Away, TimeoutError):
                pass
            except HiveError as error:
                self._say(str(error))

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
                self._seen = look
            # read after the look: an order that the server has by now is in the file already
            await repeat_change(operator, look, self._folder.known())
            self._follow(look)
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

    def _follow(self, look: HiveLook) -> None:
        # as hive.json is now: `webcrawl hive resize` may have been quicker than the server
        before, now = self._folder.change(
            lambda known: followed(self._folder, known, look, self._ended())
        )
        if before.wanted and not now.wanted:
            logger.info("the hive now has %s", count(len(now.drones), "drone"))


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
