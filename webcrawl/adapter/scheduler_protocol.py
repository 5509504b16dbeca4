"""The scheduler, as those see it who pass commands on to its crawl or take part in its hive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from scrapy.crawler import Crawler

from webcrawl.adapter.barrier import CheckpointWaiters
from webcrawl.crawl.crawl import Crawl
from webcrawl.store.errors import StoreError


class Scheduled(Protocol):
    """The attributes and methods that they need."""

    crawl: Crawl
    crawler: Crawler
    kept: CheckpointWaiters
    others_done: bool
    wants_checkpoint: Callable[[], None] | None
    begun: float
    stopping: bool
    failed: StoreError | None

    @property
    def over(self) -> bool: ...

    @property
    def rests(self) -> bool: ...

    def has_work(self) -> bool: ...

    def wake(self) -> None: ...

    def fail(self, error: Exception) -> None: ...

    def checkpoint(self) -> Awaitable[None]: ...
