"""The hive of a crawl that is a drone: joined before the crawl is opened, left after its end."""

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
    """A crawl's connection to its hive. In a crawl that is no drone it does nothing."""

    def __init__(self) -> None:
        self.member: Membership | None = None
        self.others_done = True  # no other drone has anything for this one
        self._entry: HiveEntry | None = None
        self._running: DroneRunner | None = None

    async def enter(self, crawler: Crawler, values: CheckedSettings, name: str) -> None:
        """Join the hive if the crawl is a drone. Raise HiveError if it cannot join."""
        if not values["HIVE_DRONES"]:
            return
        from webcrawl.adapter.hive_membership import HiveEntry  # noqa: PLC0415 - 0.1 s that other crawls need not spend

        self._entry = HiveEntry(crawler, values, name)
        self.member = await self._entry.member()

    @property
    def db(self) -> CrawlDB | None:
        """Return the state, which joining has opened, or None if the crawl is no drone."""
        return self._entry.db if self._entry is not None else None

    @property
    def is_drone(self) -> bool:
        return self._entry is not None

    def begin(self, scheduler: CommandedScheduler) -> None:
        """Begin the exchange with the other drones. Call this once the crawl is open."""
        if self._entry is not None:
            self.others_done = False
            self._running = self._entry.make_runner(scheduler)
            scheduler.crawl.followers.add(self._running)
            scheduler.crawl.outlook.servers.watch(self._running.absence)
            self._running.start()

    async def stop(self) -> None:
        """End the exchange with the other drones. Call this after the last checkpoint."""
        if self._running is not None:
            await self._running.stop()

    def figures(self) -> dict[str, float]:
        """Return the figures of the hive for the metrics, empty if the crawl is no drone."""
        return self._running.figures() if self._running is not None else {}
