"""The duties of the drone that is queen at the moment: it looks at all reports, and publishes what follows from them.

What they say of all drones is a line in its log, and a file beside its own stats.json.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from pathlib import Path

from webcrawl.base.readable import count
from webcrawl.crawl.hive.drone_report import Report
from webcrawl.crawl.hive.drone_server import Beat, Server
from webcrawl.crawl.hive.errors import ForeignMessage
from webcrawl.crawl.hive.hive_command import OVER, RELEASE
from webcrawl.crawl.hive.member import Post
from webcrawl.crawl.hive.partition import Groups
from webcrawl.crawl.hive.queen import Decisions, Queen
from webcrawl.store.disk import rewrite
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.stats_file import plain

logger = logging.getLogger(__name__)

NAME = "hive-stats.json"
WRITE, SAY = 10.0, 60.0  # seconds between two files, and two lines

AGAIN = 60.0  # seconds for which nothing more is said of a drone whose reports stay unreadable, whatever is in them


class Telling:
    """`jobdir`: the queen's."""

    def __init__(self, jobdir: Path) -> None:
        self._path = jobdir / NAME
        self._written_at = self._said_at = float("-inf")

    def tell(self, now: float, reports: Collection[Report], away: Collection[int] = (), *, last: bool = False) -> None:
        """If it is time for it; `away`: drones that are not heard of; `last`: the crawl is over."""
        if not last and now - self._written_at < WRITE:
            return
        found = merged(report.stats() for report in reports)
        self._written_at = now
        try:
            rewrite(self._path, plain(found).encode())
        except OSError as error:  # the figures are in the server, too
            logger.warning("%s: not written: %s", self._path, error)
        if last or now - self._said_at >= SAY:
            self._said_at = now
            pages, queued, failures = (int(found.get(name, 0)) for name in ("pages", "queued", "failures"))
            done = count(pages, "page"), queued, count(failures, "failure")
            drones = len({report.drone for report in reports}.union(away))
            trouble = f"{found['trouble']}, " if found.get("trouble") else ""
            gone = f", {len(away)} away" if away else ""
            logger.info("the hive: %s%s, %d queued, %s, drones: %d%s", trouble, *done, drones, gone)


class Reign:
    """Begins anew with each time that this drone is queen."""

    def __init__(self, me: int, server: Server, post: Post, groups: Groups, telling: Telling) -> None:
        self._me, self._server, self._post, self._groups, self._telling = me, server, post, groups, telling
        self._queen: Queen | None = None
        self._released: set[int] = set()
        self._unreadable: dict[int, tuple[str, float]] = {}  # drones: what was said of their reports, and when

    async def heard(self, beat: Beat) -> None:
        """Does what follows from this beat."""
        if beat.queen != self._me:
            self._queen = None
            return
        if self._queen is None:
            self._queen = Queen(self._groups)
        slots = self._post.drone.slots
        obeyed = self._post.obeyed
        now = time.monotonic()
        reports = self._reports(beat, now)
        decided = self._queen.look(now, reports, beat.alive, slots, obeyed.wanted, obeyed.number)
        self._telling.tell(now, reports.values(), decided.away, last=decided.over)
        await self._act(decided, beat)

    async def _act(self, decided: Decisions, beat: Beat) -> None:
        for line in decided.notices:
            logger.warning("%s", line)
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

    def _reports(self, beat: Beat, now: float) -> dict[int, Report]:
        """Those that can be read; of any other it is said once, and again when it is another trouble."""
        reports, told = {}, {}
        for drone, data in beat.reports.items():
            words, at = self._unreadable.get(drone, ("", float("-inf")))
            try:
                reports[drone] = Report.unpack(data)
                words = ""
            except ForeignMessage as error:
                if str(error) != words and now - at >= AGAIN:
                    words, at = str(error), now
                    logger.warning("drone %d: %s", drone, error)
            told[drone] = words, at
        self._unreadable = told
        return reports
