"""The scheduler, as those see it who pass commands on to its crawl or take part in its hive."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from scrapy.crawler import Crawler

from webcrawl.adapter.run_moments import RunEnd
from webcrawl.crawl.checkpointing import Checkpointing
from webcrawl.crawl.crawl import Crawl
from webcrawl.store.errors import StoreError


class Hive(Protocol):
    """Whether other drones have anything for this one."""

    others_done: bool


class Scheduled(Protocol):
    """The attributes and methods that they need."""

    crawl: Crawl
    crawler: Crawler
    keeping: Checkpointing
    begun: float
    end: RunEnd

    @property
    def hive(self) -> Hive: ...

    @property
    def failed(self) -> StoreError | None: ...

    @property
    def over(self) -> bool: ...

    @property
    def rests(self) -> bool: ...

    def has_work(self) -> bool: ...

    def wake(self) -> None: ...

    def fail(self, error: Exception) -> None: ...

    def checkpoint(self) -> Awaitable[None]: ...
