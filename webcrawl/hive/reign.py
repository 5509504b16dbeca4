"""What the drone does that is queen at the moment: looks at all reports, and publishes what follows from them."""

from __future__ import annotations

import logging
import time

from webcrawl.hive.errors import ForeignMessage
from webcrawl.hive.member import Post
from webcrawl.hive.queen import Decisions, Queen, Wanted
from webcrawl.hive.report import Report
from webcrawl.hive.server import Beat, Server
from webcrawl.hive.slots import Groups

logger = logging.getLogger(__name__)

OVER = "over"  # the command that ends the crawl of all


class Reign:
    """Begins anew with each time that this drone is queen."""

    def __init__(self, me: int, server: Server, post: Post, groups: Groups, patience: float = 0.0) -> None:
        self._me, self._server, self._post, self._groups, self._patience = me, server, post, groups, patience
        self._queen: Queen | None = None
        self.wanted: Wanted | None = None

    def __repr__(self) -> str:
        return f"<Reign of {self._me} {self._queen!r}>"

    async def heard(self, beat: Beat, applied: int) -> None:
        """What to do after this beat."""
        if beat.queen != self._me:
            self._queen = None
            return
        if self._queen is None:
            self._queen = Queen(self._groups, self._patience)
        slots = self._post.drone.slots
        decided = self._queen.look(time.monotonic(), _reports(beat), beat.alive, slots, self.wanted, applied)
        await self._act(decided)

    async def _act(self, decided: Decisions) -> None:
        for line in decided.notices:
            logger.info("%s", line)
        if decided.map is not None:
            await self._server.publish_map(decided.map)
        if decided.over:
            await self._server.command(OVER)


def _reports(beat: Beat) -> dict[int, Report]:
    reports = {}
    for drone, data in beat.reports.items():
        try:
            reports[drone] = Report.unpack(data)
        except ForeignMessage as error:
            logger.warning("drone %d: %s", drone, error)
    return reports
