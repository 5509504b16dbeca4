"""What the drone does that is queen at the moment: looks at all reports, and publishes what follows from them."""

from __future__ import annotations

import logging
import time

from webcrawl.hive.command import OVER, RELEASE
from webcrawl.hive.errors import ForeignMessage
from webcrawl.hive.member import Post
from webcrawl.hive.queen import Decisions, Queen
from webcrawl.hive.report import Report
from webcrawl.hive.server import Beat, Server
from webcrawl.hive.slots import Groups
from webcrawl.hive.telling import Telling

logger = logging.getLogger(__name__)


class Reign:
    """Begins anew with each time that this drone is queen."""

    def __init__(self, me: int, server: Server, post: Post, groups: Groups, telling: Telling) -> None:
        self._me, self._server, self._post, self._groups, self._telling = me, server, post, groups, telling
        self._queen: Queen | None = None
        self._released: set[int] = set()

    def __repr__(self) -> str:
        return f"<Reign of {self._me} {self._queen!r}>"

    async def heard(self, beat: Beat) -> None:
        """What to do after this beat."""
        if beat.queen != self._me:
            self._queen = None
            return
        if self._queen is None:
            self._queen = Queen(self._groups)
        slots = self._post.drone.slots
        obeyed = self._post.obeyed
        now, reports = time.monotonic(), _reports(beat)
        decided = self._queen.look(now, reports, beat.alive, slots, obeyed.wanted, obeyed.number)
        self._telling.tell(now, reports.values(), last=decided.over)
        await self._act(decided, beat)

    async def _act(self, decided: Decisions, beat: Beat) -> None:
        for line in decided.notices:
            logger.info("%s", line)
        if decided.map is not None:
            for drone in sorted(decided.lost):
                await self._server.give_up(drone)
            await self._server.publish_map(decided.map)
        for drone in sorted(decided.forgotten.intersection(beat.members)):
            logger.warning("drone %d is lost: its hosts are others' now", drone)
            await self._server.forget(drone)
        if decided.rest:
            await self._server.let_rest()
        await self._release(decided.released, beat)
        if decided.over:
            await self._server.command(OVER)

    async def _release(self, drones: frozenset[int], beat: Beat) -> None:
        """Ends drones that have nothing left, and forgets them when they are gone."""
        there = sorted(drones.intersection(beat.alive) - self._released)
        if there:
            self._released.update(there)
            await self._server.command(RELEASE, *there)
        for drone in sorted(drones.difference(beat.alive)):
            logger.info("drone %d has given away all it had, and is no part of the hive any more", drone)
            self._released.discard(drone)
            await self._server.forget(drone)


def _reports(beat: Beat) -> dict[int, Report]:
    reports = {}
    for drone, data in beat.reports.items():
        try:
            reports[drone] = Report.unpack(data)
        except ForeignMessage as error:
            logger.warning("drone %d: %s", drone, error)
    return reports
