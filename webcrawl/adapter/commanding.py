"""A crawl in Scrapy's engine, as commands see it (control/commands.py)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.close import close_spider
from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.given import origin
from webcrawl.adapter.profile import profile
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.threads_now import downloads
from webcrawl.control.errors import CommandError
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.refusals import reason_of
from webcrawl.logs.error_tail import last_errors
from webcrawl.seeds.errors import SeedError
from webcrawl.text.credentials import text_without_credentials
from webcrawl.urls.optout import OptOut

STOPPED = "stopped"  # the reason of a crawl that was stopped by command


class Commanding:
    """What `commands.obey` takes. It keeps nothing itself: whoever passes commands on may make one for each."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @property
    def _scheduler(self) -> FrontierScheduler:
        try:
            scheduler = scheduler_of(self._crawler)
        except NotConfigured as error:
            raise CommandError("the crawl does not run") from error
        if scheduler.over or scheduler.failed is not None:
            raise CommandError("the crawl has ended")
        return scheduler

    def stop(self) -> None:
        close_spider(self._crawler, STOPPED)

    def pause(self) -> bool:
        return self._scheduler.crawl.pause()

    def resume(self) -> bool:
        scheduler = self._scheduler
        resumed = scheduler.crawl.resume()
        scheduler.wake()
        return resumed

    def checkpoint(self) -> Awaitable[None]:
        scheduler = self._scheduler
        if scheduler.wants_checkpoint is None:
            raise CommandError("the extension that takes checkpoints is switched off")
        scheduler.wants_checkpoint()
        return scheduler.kept.next()

    def exclude(self, wish: OptOut) -> bool:
        return self._scheduler.crawl.in_force.exclude(wish)

    def include(self, rule: str) -> None:
        self._scheduler.crawl.in_force.include(rule)

    def excluded(self) -> Sequence[OptOut]:
        return self._scheduler.crawl.optouts()

    def seeds(self, source: str) -> None:
        scheduler = self._scheduler
        try:
            scheduler.crawl.add_seeds(source)
        except (SeedError, OSError) as error:
            raise CommandError(str(error)) from error
        scheduler.wake()

    def set(self, name: str, value: str) -> str:
        return f"{self._scheduler.crawl.in_force.set(name, value)}"

    def get(self, name: str) -> Mapping[str, Any]:
        in_force = self._scheduler.crawl.in_force
        if name not in in_force.values:
            raise CommandError(f"{name[:40]} is no setting of the crawl; get lists all")
        by_command = name in in_force.set_values
        return {
            "name": name,
            "value": _plain(in_force.values[name]),
            "from": "command" if by_command else origin(self._crawler.settings, name),
            "may_change": in_force.may_change(name),
        }

    def settings(self) -> Sequence[str]:
        return [name for name in self._scheduler.crawl.in_force.values if name.isupper()]

    @property
    def hosts(self) -> HostOrders:
        scheduler = self._scheduler
        scheduler.wake()  # once the command is carried out: more may be due then
        if scheduler.crawl.hosts is None:
            raise CommandError("the FRONTIER of this crawl takes no commands on hosts")
        return scheduler.crawl.hosts

    def errors(self, most: int) -> Mapping[str, Any]:
        folder = Path(self._crawler.settings["JOBDIR"])
        hosts = self._scheduler.crawl.hosts
        outcomes = hosts.outcomes() if hosts is not None else {}
        ends = [{"urls": urls, "outcome": _said(status)} for status, urls in outcomes.items()]
        errors = {f"{place}": one.splitlines() for place, one in enumerate(last_errors(folder, most), start=1)}
        return {"outcomes": ends, "errors": errors}

    def threads(self) -> Mapping[str, Any]:
        return {"downloads": downloads(downloader_of(self._scheduler.crawler))}

    def profile(self, seconds: float) -> Awaitable[Mapping[str, Any]]:
        return profile(seconds)

    def about(self, url: str) -> Mapping[str, Any]:
        return self._scheduler.crawl.about(url)

    def status(self) -> Mapping[str, Any]:
        scheduler = self._scheduler
        crawl = scheduler.crawl
        state = "stopping" if scheduler.stopping else "paused" if crawl.in_force.paused else "running"
        return {
            "state": state,
            "seconds": round(time.monotonic() - scheduler.begun, 1),
            **crawl.glance(),
            "in_force": [*crawl.in_force.told(), *(crawl.hosts.told() if crawl.hosts is not None else ())],
        }


def _said(status: int) -> str:
    """A number of the crawl log, and for those that are no HTTP status their names."""
    try:
        return f"{status}" if status > 0 else f"{status} {reason_of(status)}"
    except ValueError:  # of a handler that is not ours
        return f"{status}"


def _plain(value: Any) -> Any:
    """As JSON can say it, without credentials."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return text_without_credentials(str(value))
