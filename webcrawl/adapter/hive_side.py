"""The hive of a crawl that is a drone: entered before the crawl is opened, left after its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.crawler import Crawler

from webcrawl.adapter.commanded_crawl import CommandedScheduler
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.store.crawldb import CrawlDB

if TYPE_CHECKING:
    from webcrawl.adapter.hive_membership import HiveEntry
    from webcrawl.crawl.hive.drone_runner import DroneRunner
    from webcrawl.crawl.hive.member import Membership


class HiveSide:
    """A crawl's side of its hive. A crawl that is no drone has one too, and waits for no other crawl."""

    def __init__(self) -> None:
        self.member: Membership | None = None
        self.others_done = True  # no drone has anything for us
        self._entry: HiveEntry | None = None
        self._others: DroneRunner | None = None

    async def enter(self, crawler: Crawler, values: CheckedSettings, name: str) -> None:
        """Enter the hive, if the crawl is a drone of one."""
        if not values["HIVE_DRONES"]:
            return
        from webcrawl.adapter.hive_membership import HiveEntry  # noqa: PLC0415 - 0.1 s that other crawls need not spend

        self._entry = HiveEntry(crawler, values, name)
        self.member = await self._entry.member()

    @property
    def db(self) -> CrawlDB | None:
        """Return the state, which had to be opened to enter."""
        return self._entry.db if self._entry is not None else None

    @property
    def is_drone(self) -> bool:
        return self._entry is not None

    def begin(self, scheduler: CommandedScheduler) -> None:
        """Begin the loops: the crawl is open."""
        if self._entry is not None:
            self.others_done = False
            self._others = self._entry.running(scheduler)
            scheduler.crawl.followers.add(self._others)
            scheduler.crawl.outlook.servers.watch(self._others.absence)
            self._others.start()

    async def stop(self) -> None:
        """Stop the loops, after the last checkpoint."""
        if self._others is not None:
            await self._others.stop()

    def figures(self) -> dict[str, float]:
        """Return what the metrics have of the hive; nothing of a crawl that is no drone."""
        return self._others.figures() if self._others is not None else {}
