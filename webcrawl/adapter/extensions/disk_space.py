"""Pauses fetching while the disk of JOBDIR is nearly full."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.crawl import disk_space


class DiskSpace:
    """Pauses fetching while JOBDIR's disk has too little space.

    Only the engine is paused: requests under way are finished, and checkpoints continue.
    """

    def __init__(self, crawler: Crawler, folder: Path, least: int) -> None:
        self._crawler = crawler
        self.space = disk_space.DiskSpace(folder, least, self._pause_for)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        return connect_extension(
            crawler, cls(crawler, Path(values["JOBDIR"]), values["MIN_FREE_DISK"])
        )

    def opened(self) -> None:
        # Under another scheduler no command changes the setting
        with suppress(NotConfigured):
            scheduler_of(self._crawler).crawl.parts.in_force.listen(
                ["MIN_FREE_DISK"], self.space.change
            )
        self.space.start()

    def closed(self) -> None:
        self.space.stop()

    def _pause_for(self, reason: str) -> str:
        """Pause fetching for this reason, or resume it if the reason is empty.

        Called only when that changes. Return the result as the text of a log line.
        """
        reason_in_force = reason
        # Another scheduler has no status that could show the reason
        with suppress(NotConfigured):
            crawl = scheduler_of(self._crawler).crawl
            crawl.parts.set_pause_reason(reason, self)
            # Another reason, such as an operator's pause, may remain
            reason_in_force = crawl.outlook.stopped_by
        if reason:
            self._crawler.engine.pause()
        else:
            self._crawler.engine.unpause()
            # Another scheduler is asked every few seconds
            with suppress(NotConfigured):
                scheduler_of(self._crawler).wake()
        return f"nothing is fetched ({reason_in_force})" if reason_in_force else "fetching resumes"
