"""The side of a crawl that commands act on, and the settings that they change in Scrapy's parts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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

if TYPE_CHECKING:
    from webcrawl.crawl.hive.batch_transfer import HiveState


class CommandedScheduler(Protocol):
    """The attributes and methods of the scheduler that commands and the hive use.

    FrontierScheduler (adapter/scheduler.py) documents them.
    """

    crawler: Crawler
    keeping: Checkpointing
    begun: float
    end: RunEnd

    @property
    def crawl(self) -> Crawl: ...

    @property
    def hive(self) -> HiveState: ...

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
    """The crawl to which `commands.obey` (crawl/control/commands.py) gives a command.

    It keeps no state, so a caller may make one for each command. All methods but `stop` raise
    CommandError if the crawl does not run, or has ended.
    """

    def __init__(
        self, crawler: Crawler, scheduler: Callable[[Crawler], CommandedScheduler]
    ) -> None:
        """`scheduler` returns the crawler's scheduler. It raises NotConfigured without a crawl."""
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
        """End the crawl; pages that are under way are finished."""
        close_spider(self._crawler, STOPPED)

    def checkpoint(self) -> Awaitable[None]:
        """Request a checkpoint, and return an awaitable that ends when it is committed.

        Raise CommandError if the extension that takes checkpoints is switched off.
        """
        keeping = self._scheduler.keeping
        if keeping.soon is None:
            raise CommandError(
                "no checkpoint can be taken: the extension that takes them is switched off"
            )
        keeping.soon()
        return keeping.waiters.next()

    def get(self, name: str) -> Mapping[str, Any]:
        """Return the value of a setting, where it comes from, and whether a command may change it.

        Raise CommandError if the crawl has no such setting.
        """
        in_force = self.crawl.parts.in_force
        if name not in in_force.values:
            raise CommandError(
                f"{name[:40]} is not a setting of the crawl; `get` lists all settings"
            )
        by_command = name in in_force.set_values
        return {
            "name": name,
            "value": _as_json(value_of(in_force.values, name)),
            "from": "command" if by_command else origin(self._crawler.settings, name),
            "may_change": in_force.may_change(name),
        }

    def errors(self, most: int) -> Mapping[str, Any]:
        """Return the last `most` entries of logs/errors.log, and the number of URLs by outcome."""
        folder = Path(self._crawler.settings["JOBDIR"])
        # A run over archives has no hosts
        hosts = self.crawl.parts.hosts
        outcomes = hosts.outcomes() if hosts is not None else {}
        ends = [
            {"urls": urls, "outcome": _status_with_name(status)}
            for status, urls in outcomes.items()
        ]
        errors = {
            f"{number}": error.splitlines()
            for number, error in enumerate(last_errors(folder, most), start=1)
        }
        return {"outcomes": ends, "errors": errors}

    def threads(self) -> Mapping[str, Any]:
        """Return a row for each download under way, as LARM's ThreadMonitor shows its threads."""
        return {"downloads": downloads(downloader_of(self._scheduler.crawler))}

    def _state(self) -> str:
        scheduler = self._scheduler
        if scheduler.end.begun:
            return "stopping"
        return "paused" if scheduler.crawl.parts.in_force.paused else "running"

    def status(self) -> Mapping[str, Any]:
        """Return the crawl's state, age and figures, and the commands that are in force."""
        scheduler = self._scheduler
        crawl = scheduler.crawl
        parts = scheduler.crawl.parts
        return {
            "state": self._state(),
            "seconds": round(time.monotonic() - scheduler.begun, 1),
            **crawl.outlook.glance(),
            "in_force": [
                *parts.in_force.order_lines(),
                *(parts.hosts.order_lines() if parts.hosts is not None else ()),
            ],
        }


def _status_with_name(status: int) -> str:
    """Return a status as the crawl log has it, with its name if it is no HTTP status."""
    try:
        return f"{status}" if status > 0 else f"{status} {reason_of(status)}"
    except ValueError:
        # A handler that is not ours may give any status
        return f"{status}"


def _as_json(value: Any) -> Any:
    """Return the value of a setting as JSON can have it: classes as paths, credentials left out."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _as_json(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_as_json(member) for member in value]
    if isinstance(value, type):
        return path_of(value)
    return text_without_credentials(str(value))


def apply_commands(
    crawl: Crawl, downloader: FrontierDownloader, settings: BaseSettings, wake: Callable[[], None]
) -> None:
    """Apply the settings that commands have changed, in former runs and from now on.

    `wake` has the frontier asked again, because a larger CONCURRENT_REQUESTS frees slots.
    """
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

    # First in the list: it may refuse a value before the others apply it
    in_force.listen(["CONCURRENT_REQUESTS"], refuse, now=False)
    in_force.listen(["LOG_LEVEL"], _set_log_level)
    in_force.listen(["CONCURRENT_REQUESTS"], resize)
    in_force.listen(OF_REQUESTS, downloader.network.change)
    in_force.listen(["BANDWIDTH_MAX"], lambda now: bandwidth.limit(now["BANDWIDTH_MAX"]))


def _set_log_level(values: CheckedSettings) -> None:
    """Have Scrapy's log handler leave out what is below LOG_LEVEL."""
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setLevel(values["LOG_LEVEL"])
