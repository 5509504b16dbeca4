"""Copies finished output files to OUTPUT_STORE (docs/storage.md)."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.record.objectstore.store_folder import StoreFolder, address_below
from webcrawl.record.objectstore.storing import FileStorage, forget_store
from webcrawl.store.jobdir.crawls import folder_of


class OutputStore:
    """Copies finished files to a store while the spider is open.

    `address` is the place of this crawl's files in the store. If it is None, nothing is copied, and
    files that an earlier run has copied stay where they are. `keep`: keep the copied files in
    JOBDIR.
    """

    def __init__(self, crawler: Crawler, root: Path, address: str | None, *, keep: bool) -> None:
        self._crawler = crawler
        self._root = root
        self._address = address
        self._keep = keep

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        jobdir = Path(values["JOBDIR"])
        keep = values["OUTPUT_STORE_KEEP"]
        return connect_opening(crawler, cls(crawler, jobdir, address_of(values), keep=keep))

    def opened(self) -> None:
        """Begin to copy files as checkpoints finish them.

        End the crawl if the store cannot be used.
        """
        try:
            scheduler = scheduler_of(self._crawler)
        # Under another scheduler no output is written
        except NotConfigured:
            return
        crawl = scheduler.crawl
        address = self._address
        # Without a store, files that disappear from JOBDIR are not missed
        if address is None:
            forget_store(crawl.parts.db)
            return
        try:
            storing = FileStorage(
                crawl.parts.db,
                crawl.parts.outputs,
                root=self._root,
                address=address,
                keep=self._keep,
                open_folder=partial(StoreFolder, address),
                is_stopping=lambda: scheduler.is_hurried,
                clock=time.monotonic,
                now=time.time,
            )
        except Exception as error:  # noqa: BLE001 - Scrapy would continue, and nothing would ever be stored
            scheduler.fail(error)
            return
        crawl.followers.add(storing)
        crawl.parts.moments.next_figures.append(storing.stats)
        scheduler.run.behind.append(lambda: storing.is_behind)


def address_of(values: CheckedSettings) -> str | None:
    """Return the place of this crawl's files in the store, or None without a store.

    A drone has a folder of its own there, as it has in JOBDIR.
    """
    address: str | None = values["OUTPUT_STORE"]
    if address is None or not values["HIVE_DRONES"]:
        return address
    return address_below(address, folder_of(Path(), values["HIVE_DRONE"]).name)
