"""Pauses fetching while the disk of JOBDIR is nearly full."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Self
from weakref import WeakKeyDictionary

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.crawl import disk_space

_holders: WeakKeyDictionary[Crawler, dict[object, str]] = WeakKeyDictionary()


def hold(crawler: Crawler, holder: object, why: str, *, held: bool) -> str:
    """Pause the engine for this holder (`held`), or resume it unless another holder has paused it.

    `why` says in a few words why, for progress and status; of several holders the first one's words
    count. Return the result as the text of a log line.
    """
    holders = _holders.setdefault(crawler, {})
    was_held = bool(holders)
    if held:
        holders[holder] = why
    else:
        holders.pop(holder, None)
    reason_in_force = next(iter(holders.values()), "")
    # Another scheduler shows no status
    with suppress(NotConfigured):
        crawl = scheduler_of(crawler).crawl
        crawl.parts.hold(reason_in_force)
        reason_in_force = crawl.outlook.stopped_by
    engine = crawler.engine
    # The first holder pauses the engine, and the last one resumes it
    if engine is not None and bool(holders) != was_held:
        _pause_or_resume(crawler, engine, held=held)
    return f"nothing is fetched ({reason_in_force})" if reason_in_force else "fetching resumes"


def _pause_or_resume(crawler: Crawler, engine: ExecutionEngine, *, held: bool) -> None:
    if held:
        engine.pause()
        return
    engine.unpause()
    # Another scheduler is asked every few seconds
    with suppress(NotConfigured):
        scheduler_of(crawler).wake()


class DiskSpace:
    """Pauses fetching while JOBDIR's disk has too little space.

    Only the engine is paused: requests under way are finished, and checkpoints continue.
    """

    def __init__(self, crawler: Crawler, folder: Path, least: int) -> None:
        self._crawler = crawler
        self.space = disk_space.DiskSpace(folder, least, self._hold)

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

    def _hold(self, why: str) -> str:
        return hold(self._crawler, self, why, held=bool(why))
