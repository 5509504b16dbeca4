"""What a hive's process sees of it once a second; and how a change of its drones goes on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, cast

from webcrawl.base.program import LiveLine
from webcrawl.base.readable import count
from webcrawl.crawl import progress
from webcrawl.crawl.hive.errors import Away, CannotRead, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder, saved, total
from webcrawl.crawl.hive.operator import HiveLook, Operator, waits_for
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer
from webcrawl.tools.supervisor.servers import MakeOperator

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds
LAST = 2.0  # seconds for the look after the end


class DroneCountChange:
    """A change of the number of drones, which hive.json follows whatever dies meanwhile.

    `webcrawl hive resize` writes what is wanted, and waits. All else is for the process that runs the hive:
    that process alone knows when a drone has ended because it has given away all it had. What no
    look at the server can tell after it was emptied.
    """

    def __init__(self, folder: HiveFolder, ended: Callable[[], Collection[int]]) -> None:
        """`ended`: drones that have ended in this run because they had nothing left to do."""
        self._folder = folder
        self._ended = ended
        self._left: set[int] = set()  # have given away all

    def to_run(self, founding: Founding, look: HiveLook) -> list[int]:
        """Return the drones that are to run now. One that has left begins anew if wanted.

        So does one that the map still has among the leaving, and of which the server knows nothing:
        it has to say once more that it has nothing left. Whatever hive.json says, the crawl waits
        for it.
        """
        leaving = self._folder.leaving(look.map, founding)
        left = self._left | {*self._ended()}
        self._left = left.difference(
            founding.wanted or founding.drones, leaving - look.reports.keys()
        )
        return sorted(leaving.union(founding.drones) - self._left)

    def followed(self, founding: Founding, look: HiveLook) -> Founding:
        """Return the founding that hive.json is to have now.

        The new drones come in when the server knows of the change, for it lets in only those that
        it expects. Those that are to leave stay until they have ended; but not one that never came,
        and now shall not.
        """
        wanted, ended = {*founding.wanted}, {*self._ended()}
        if not wanted or look.wanted != wanted:
            return founding
        leaving = {
            drone
            for drone in founding.drones
            if drone in look.drones or self._folder.figures(drone)
        } - wanted
        # the crawl may be over meanwhile
        there = {**dict.fromkeys(ended & wanted, 0.0), **look.leases}
        if leaving <= self._left | ended and not waits_for(
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
        self._change = DroneCountChange(folder, ended)
        self._seen = HiveLook(map=folder.saved_map())  # at first what the checkpoints know
        self.drones = self._change.to_run(folder.known(), self._seen)
        self.figures: Mapping[str, Any] = saved(folder)
        self.silent: Mapping[int, int] = {}  # drones that are not heard of, and their processes
        self._said: dict[str, str] = {}  # of troubles that may pass: what was said last
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
        try:
            # before a server is started again in a folder that is gone
            founding = self._folder.known()
            self._check_server()
            self.drones = self._change.to_run(founding, self._seen)
            await self._look(operator)
        except (CannotRead, OSError) as error:  # the drones go on
            self._say("read", str(error))
        else:
            self._said.pop("read", None)

    def _say(self, what: str, why: str) -> None:
        """Warn, but only once of what stays as it is."""
        if self._said.get(what) != why:
            self._said[what] = why
            logger.warning("%s", why)

    async def last(self) -> None:
        """See, when all drones have ended, whether a change of their number had, too."""
        async with aclosing(self._make_operator()) as operator:
            with suppress(Away, HiveError, TimeoutError):
                async with asyncio.timeout(LAST):
                    self._follow(await operator.look())

    def _check_server(self) -> None:
        try:
            if self._server is not None and self._server.check():
                logger.warning("the hive's server died and was restarted")
        except OSError as error:
            # no memory, no processes, no descriptors: the drones go on without it
            self._say(
                "server",
                f"the hive's server died and cannot be restarted: {error.strerror or error}",
            )
        else:
            self._said.pop("server", None)

    async def _look(self, operator: Operator) -> None:
        try:
            look = await operator.look()
            if look.map is not None:  # else the server has been emptied
                self._seen = look
            # read after the look: an order that the server has by now is in the file already
            await repeat_change(operator, look, self._folder.known())
            self._follow(look)
            reports = look.reports
            self.silent = look.silent
            self.figures = total(
                reports[drone].stats()
                if drone in reports
                else {"drone": drone, **self._folder.figures(drone)}
                for drone in self._folder.all_drones()
            )
            if self._said.pop("look", None):
                logger.info("the drones' signs of life can be read again")
        except CannotRead:  # no file of the checkpoints either
            raise
        except (Away, HiveError) as error:
            if isinstance(error, HiveError):  # a right is missing, perhaps: the drones go on
                self._say("look", f"the drones' signs of life cannot be read: {error}")
            self.figures = saved(self._folder)
            self.silent = {}

    def _follow(self, look: HiveLook) -> None:
        try:  # as hive.json is now: `webcrawl hive resize` may have been quicker than the server
            before, now = self._folder.change(lambda known: self._change.followed(known, look))
        except HiveError as error:  # the disk is full, perhaps: it is tried again
            self._say("write", str(error))
            return
        self._said.pop("write", None)
        if before.wanted and not now.wanted:
            logger.info("the hive now has %s", count(len(now.drones), "drone"))


class HiveProgressDisplay:
    """Shows the progress of a hive; `show` may be called at any time.

    `live`: standard error is a terminal. `logged`: the log gets lines too.
    """

    def __init__(self, *, live: bool, logged: bool) -> None:
        self._live = LiveLine() if live else None
        self._logged = logged
        now = time.monotonic()
        self._next_look = now
        self._next_line = now
        self._rate = progress.Rate(time.monotonic)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        self._next_line += progress.INTERVAL
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(
        self, figures: Mapping[str, Any], drones: int, down: Sequence[int], silent: Sequence[int]
    ) -> None:
        """Show `figures` of all drones; `down`: drones that are away; `silent`: that hang."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + progress.BLINK
        rate = self._rate.of(int(figures.get("pages", 0)))
        if self._live is not None:
            self._live.update(short_line(figures, rate, drones, down, silent))
        if self._logged and now >= self._next_line:
            self._next_line = now + progress.INTERVAL
            logger.info("%s", line(figures, rate, drones, down, silent))


def line(
    figures: Mapping[str, Any],
    rate: float,
    drones: int,
    down: Sequence[int],
    silent: Sequence[int] = (),
) -> str:
    """Return the line of the log."""
    lacking = [
        f"{', '.join(map(str, some))} {how}"
        for some, how in ((down, "down"), (silent, "not heard of"))
        if some
    ]
    away = f" ({', '.join(lacking)})" if lacking else ""
    revisits = progress.revisits_in_words(figures)
    said = (
        progress.waits_for(figures),
        progress.line(figures, rate),
        *revisits,
        f"{count(drones, 'drone')}{away}",
    )
    return ", ".join(filter(None, said))


def short_line(
    figures: Mapping[str, Any],
    rate: float,
    drones: int,
    down: Sequence[int],
    silent: Sequence[int] = (),
) -> str:
    """Return the line of a terminal."""
    lacking = len(down) + len(silent)
    working = f"{drones - lacking}/{drones}" if lacking else str(drones)
    return f"{progress.short_line(figures, rate)}  drones {working}"
