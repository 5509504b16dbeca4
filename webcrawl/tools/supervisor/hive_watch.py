"""Looks after a hive once a second: the figures of all drones, their server, and a change of their number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from webcrawl.base.quantities import count
from webcrawl.crawl.hive.embedded import EmbeddedServer
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder, saved, total
from webcrawl.crawl.hive.operator import Look, Operator, unsettled
from webcrawl.tools.supervisor.servers import MakeOperator


class Change:
    """A change of the number of drones, which hive.json follows from the order to its end, whatever dies meanwhile.

    `scrapy hive resize` writes what is wanted, and waits. All else is for whoever runs the hive: that process alone
    knows when a drone has ended because it has given away all it had. What no look at the server can tell after it was
    emptied.
    """

    def __init__(self, folder: HiveFolder, ended: Callable[[], Collection[int]]) -> None:
        """`ended`: the drones that have ended, in this run, because nothing was left for them to do."""
        self._folder, self._ended = folder, ended
        self._left: set[int] = set()  # have given away all

    def to_run(self, founding: Founding) -> list[int]:
        """The drones that are to run now. One that has left, and is wanted again, begins anew."""
        wanted = {*founding.wanted}
        self._left = (self._left | {*self._ended()}) - wanted if wanted else set()
        return [drone for drone in founding.drones if drone not in self._left]

    def followed(self, founding: Founding, look: Look) -> Founding:
        """The founding that hive.json is to have now.

        The new drones come in when the server knows of the change, for it lets in only those that it expects. Those
        that are to leave stay until they have ended; but not one that never came, and now shall not.
        """
        wanted, ended = {*founding.wanted}, {*self._ended()}
        if not wanted or look.wanted != wanted:
            return founding
        leaving = {drone for drone in founding.drones if drone in look.drones or self._folder.figures(drone)} - wanted
        there = {**dict.fromkeys(ended & wanted, 0.0), **look.leases}  # the crawl may be over meanwhile
        if leaving <= self._left | ended and not unsettled(replace(look, leases=there), wanted, lost_in(founding)):
            return replace(founding, drones=tuple(sorted(wanted)), wanted=())
        return replace(founding, drones=tuple(sorted(wanted | leaving)))


def lost_in(founding: Founding) -> set[int]:
    """Drones whose state is gone, and whose number nobody has since."""
    return {*founding.lost} - {*founding.drones} - {*founding.wanted}


async def repeat_change(operator: Operator, look: Look, founding: Founding) -> None:
    """Tells a server who shall share the web if it does not know, or has lost it."""
    if founding.wanted and look.wanted != {*founding.wanted}:
        await operator.resize(founding.wanted, lost_in(founding))


logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds
LAST = 2.0  # seconds for the look after the end


class Watching:
    """`figures` are those of the drones' last signs of life; while the server is away, of their last checkpoints."""

    def __init__(
        self,
        folder: HiveFolder,
        make_operator: MakeOperator,
        server: EmbeddedServer | None,
        ended: Callable[[], Collection[int]],
    ) -> None:
        """`ended`: the drones that have ended because nothing was left for them to do."""
        self._folder, self._make_operator, self._server = folder, make_operator, server
        self._change = Change(folder, ended)
        self.drones = list(folder.known().drones)
        self.figures: Mapping[str, Any] = saved(folder)
        self._told = False
        self.trouble: Exception | None = None  # why it does not watch any more

    async def run(self) -> None:
        """Until it is cancelled, or in trouble."""
        operator, task = self._make_operator(), cast("asyncio.Task[None]", asyncio.current_task())
        try:
            while not task.cancelling():  # what cuts a connection may end with its failure instead
                await asyncio.sleep(INTERVAL)
                self._check_server()
                founding = self._folder.known()
                self.drones = self._change.to_run(founding)
                await self._look(operator, founding)
        except Exception as error:
            self.trouble = error
            logger.critical("%s", error, exc_info=None if isinstance(error, HiveError) else error)
        finally:
            await operator.close()

    async def last(self) -> None:
        """All drones have ended: sees whether a change of their number had, too."""
        operator = self._make_operator()
        try:
            with suppress(Away, HiveError, TimeoutError):
                async with asyncio.timeout(LAST):
                    self._follow(await operator.look())
        finally:
            await operator.close()

    def _check_server(self) -> None:
        try:
            if self._server is not None and self._server.check():
                logger.warning("the hive's server died, and was started again")
        except OSError as error:  # no memory, no processes, no descriptors: the drones go on without it
            logger.warning("the hive's server died, and cannot be started: %s", error.strerror or error)

    async def _look(self, operator: Operator, founding: Founding) -> None:
        try:
            look = await operator.look()
            await repeat_change(operator, look, founding)
            self._follow(look)
            reports = look.reports
            self.figures = total(
                reports[drone].stats() if drone in reports else {"drone": drone, **self._folder.figures(drone)}
                for drone in self._folder.all_drones()
            )
        except (Away, HiveError) as error:
            if isinstance(error, HiveError) and not self._told:  # a right is missing, perhaps: the drones go on
                logger.warning("the drones' signs of life cannot be read: %s", error)
                self._told = True
            self.figures = saved(self._folder)

    def _follow(self, look: Look) -> None:
        before = self._folder.known()  # as it is now: `scrapy hive resize` may have been quicker than the server
        now = self._change.followed(before, look)
        if now == before:
            return
        try:
            self._folder.write(now)
        except HiveError as error:  # the disk is full, perhaps: it is tried again
            logger.warning("%s", error)
            return
        if before.wanted and not now.wanted:
            logger.info("the web is shared by %s now", count(len(now.drones), "drone"))
