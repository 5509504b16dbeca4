"""A crawl in Scrapy's engine as commands see it, with the settings that they change."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.log import get_scrapy_root_handler

from webcrawl.adapter.crawl_end import RunEnd, close_spider
from webcrawl.adapter.download_phases import downloads
from webcrawl.adapter.downloader import FrontierDownloader, downloader_of
from webcrawl.adapter.user_settings import origin
from webcrawl.base.loading import path_of
from webcrawl.base.readable import text_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings, value_of
from webcrawl.crawl.checkpointing import Checkpointing
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.in_force import OF_REQUESTS
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.lost_requests import reason_of
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.log_lines import last_errors


class OtherDrones(Protocol):
    """The part of a hive that commands ask whether other drones have anything for this one."""

    others_done: bool


class CommandedScheduler(Protocol):
    """The attributes and methods that they need."""

    crawler: Crawler
    keeping: Checkpointing
    begun: float
    end: RunEnd

    @property
    def crawl(self) -> Crawl: ...

    @property
    def hive(self) -> OtherDrones: ...

    @property
    def failed(self) -> StoreError | None: ...

    @property
    def saves_no_more(self) -> bool: ...

    @property
    def rests(self) -> bool: ...

    @property
    def got(self) -> bool: ...

    def has_work(self) -> bool: ...

    def wake(self) -> None: ...

    def fail(self, error: Exception) -> None: ...

    def checkpoint(self) -> Awaitable[None]: ...


STOPPED = "stopped"  # the reason of a crawl that was stopped by command


class CommandedCrawl:
    """The crawl to which `commands.obey` gives a command.

    It keeps no state, so there may be one for each command.
    """

    def __init__(
        self, crawler: Crawler, scheduler: Callable[[Crawler], CommandedScheduler]
    ) -> None:
        """`scheduler` may raise NotConfigured."""
        self._crawler = crawler
        self._scheduler_of = scheduler

    @property
    def _scheduler(self) -> CommandedScheduler:
        try:
            scheduler = self._scheduler_of(self._crawler)
        except NotConfigured as error:
            raise CommandError("the crawl is not running") from error
        if scheduler.saves_no_more or scheduler.failed is not None:
            raise CommandError("the crawl has ended")
        return scheduler

    @property
    def crawl(self) -> Crawl:
        return self._scheduler.crawl

    def wake(self) -> None:
        self._scheduler.wake()

    def stop(self) -> None:
        close_spider(self._crawler, STOPPED)

    def checkpoint(self) -> Awaitable[None]:
        keeping = self._scheduler.keeping
        if keeping.soon is None:
            raise CommandError(
                "no checkpoint can be taken: the extension that takes them is switched off"
            )
        keeping.soon()
        return keeping.waiters.next()

    def get(self, name: str) -> Mapping[str, Any]:
        in_force = self.crawl.parts.in_force
        if name not in in_force.values:
            raise CommandError(
                f"{name[:40]} is not a setting of the crawl; `get` lists all settings"
            )
        by_command = name in in_force.set_values
        return {
            "name": name,
            "value": _plain(value_of(in_force.values, name)),
            "from": "command" if by_command else origin(self._crawler.settings, name),
            "may_change": in_force.may_change(name),
        }

    def errors(self, most: int) -> Mapping[str, Any]:
        folder = Path(self._crawler.settings["JOBDIR"])
        # A run over archives has no hosts
        hosts = self.crawl.parts.hosts
        outcomes = hosts.outcomes() if hosts is not None else {}
        ends = [{"urls": urls, "outcome": _said(status)} for status, urls in outcomes.items()]
        errors = {
            f"{place}": one.splitlines()
            for place, one in enumerate(last_errors(folder, most), start=1)
        }
        return {"outcomes": ends, "errors": errors}

    def threads(self) -> Mapping[str, Any]:
        return {"downloads": downloads(downloader_of(self._scheduler.crawler))}

    def _state(self) -> str:
        scheduler = self._scheduler
        if scheduler.end.begun:
            return "stopping"
        return "paused" if scheduler.crawl.parts.in_force.paused else "running"

    def status(self) -> Mapping[str, Any]:
        scheduler = self._scheduler
        crawl = scheduler.crawl
        parts = scheduler.crawl.parts
        return {
            "state": self._state(),
            "seconds": round(time.monotonic() - scheduler.begun, 1),
            **crawl.outlook.glance(),
            "in_force": [
                *parts.in_force.told(),
                *(parts.hosts.told() if parts.hosts is not None else ()),
            ],
        }


def _said(status: int) -> str:
    """Return a status as the crawl log has it, with its name if it is no HTTP status."""
    try:
        return f"{status}" if status > 0 else f"{status} {reason_of(status)}"
    except ValueError:
        # A handler that is not ours may give any status
        return f"{status}"


def _plain(value: Any) -> Any:
    """Return the value in a form that JSON has, without credentials."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    if isinstance(value, type):
        return path_of(value)
    return text_without_credentials(str(value))


def heed(
    crawl: Crawl, downloader: FrontierDownloader, settings: BaseSettings, wake: Callable[[], None]
) -> None:
    """Apply what former runs were ordered, and what is ordered from now on."""
    in_force = crawl.parts.in_force
    bandwidth = downloader.network.bandwidth

    def resize(values: CheckedSettings) -> None:
        if values["CONCURRENT_REQUESTS"] != downloader.total_concurrency:
            downloader.resize(values)
            crawl.parts.frontier.demand.set_slots(downloader.total_concurrency)
        wake()

    def refuse(values: CheckedSettings) -> None:
        if not values["CONCURRENT_REQUESTS"] and not settings.getint("FRONTIER_QUEUES"):
            raise CommandError(
                "CONCURRENT_REQUESTS = 0: must be at least 1, because FRONTIER_QUEUES is not set"
            )

    # First: it hears a value, and may refuse it, before the others apply it
    in_force.listen(["CONCURRENT_REQUESTS"], refuse, now=False)
    in_force.listen(["LOG_LEVEL"], _log_from)
    in_force.listen(["CONCURRENT_REQUESTS"], resize)
    in_force.listen(OF_REQUESTS, downloader.network.change)
    in_force.listen(["BANDWIDTH_MAX"], lambda now: bandwidth.limit(now["BANDWIDTH_MAX"]))


def _log_from(values: CheckedSettings) -> None:
    """Log nothing below this level from now on."""
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setLevel(values["LOG_LEVEL"])
