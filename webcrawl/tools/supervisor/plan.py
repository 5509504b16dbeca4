"""The plan of a hive on this machine: what it is to be, and the command line of each of its drones."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings
from scrapy.utils.misc import load_object

from webcrawl.adapter.preflight import check_name, preflight, spider_named
from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.adapter.user_settings import default_jobdir, is_given
from webcrawl.base.errors import CannotStart
from webcrawl.base.loading import path_of
from webcrawl.base.own_process import PYTHON
from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder

ADDON = "webcrawl.WebcrawlAddon"
DRONE = (*PYTHON, "-m", "scrapy", "crawl")
NOT_GIVEN = {  # by -s
    "HIVE_DRONES": "-n says how many drones there are",
    "HIVE_DRONE": "each drone gets its own number",
}


class Plan:
    """`wanted`: how many drones; 0: as many as there are cores, or as the hive has."""

    def __init__(self, settings: Settings, spider: str, arguments: Mapping[str, str], wanted: int) -> None:
        self._settings, self._arguments, self._wanted = settings, arguments, wanted
        self._given = given_by_command(settings)
        for name in NOT_GIVEN.keys() & self._given.keys():
            raise CannotStart(f"-s {name}={self._given[name]}: {NOT_GIVEN[name]}")
        self._spider = spider_named(settings, spider)
        self.folder = HiveFolder(Path(settings["JOBDIR"] or default_jobdir(spider)))
        check_name(self.folder.path)  # before a server is started in it

    def founding(self, before: Founding | None) -> Founding:
        """The founding of this hive; CannotStart if it is not what it was, and any of its drones was ever let in."""
        name = self._settings.get("HIVE_NAME") or self._arguments.get("name", self._spider.name)
        partition = str(self._settings.get("HIVE_PARTITION") or "domain")
        if before is not None:
            try:
                self._refuse_another(before, name, partition)
            except CannotStart:
                if self.folder.begun() or before.wanted or before.lost:
                    raise
            else:
                return before
        drones = self._wanted or len(usable_cores())
        if left := self.folder.begun():
            if self._wanted != len(left):
                raise CannotStart(
                    f"{self.folder.path}: hive.json is missing, and {count(len(left), 'drone')} are there: say "
                    f"-n {len(left)}, so that none is left out"
                )
            return Founding(name, self._spider.name, partition, left[-1] + 1, left)
        return Founding(name, self._spider.name, partition, drones, tuple(range(drones)))

    def _refuse_another(self, before: Founding, name: str, partition: str) -> None:
        path = self.folder.path
        if self._wanted not in (0, len(before.drones)):
            has = count(len(before.drones), "drone")
            raise CannotStart(
                f"{path}: has {has}: start it without -n, then {program()} hive resize {path} -n {self._wanted}"
            )
        if self._spider.name != before.spider:
            raise CannotStart(f"{path}: a hive of the spider {before.spider}, not of {self._spider.name}")
        for setting, now, was in (("HIVE_NAME", name, before.name), ("HIVE_PARTITION", partition, before.partition)):
            if now != was and is_given(self._settings, setting):
                raise CannotStart(f"{setting} = {now}: {path} was founded with {was}")

    def settings_of(self, founding: Founding, number: int, url: str | None) -> dict[str, str]:
        """The settings that `-s` gives to one drone. `url`: of the server that this hive has of its own."""
        return {
            **self._given,
            "JOBDIR": str(self.folder.drone(number)),
            "HIVE_DRONES": str(max(founding.founders, number + 1)),  # more have joined since the founding
            "HIVE_DRONE": str(number),
            "HIVE_NAME": founding.name,
            "HIVE_PARTITION": founding.partition,
            "LOG_FILE": "",  # to standard error, which goes to a file for each drone
            **({"REDIS_URL": url} if url else {}),
        }

    @property
    def hops(self) -> int:
        """The redirects in a row that its drones follow."""
        own = self._settings.copy()
        self._spider.update_settings(own)
        follows = self._arguments["follow"] == "1" if "follow" in self._arguments else own.getbool("URL_FOLLOW")
        return own.getint("REDIRECT_MAX_HOPS") if follows else 0

    def command_of(self, founding: Founding, number: int, url: str | None) -> list[str]:
        """The drone's command line."""
        return command(self._spider.name, self._arguments, self.settings_of(founding, number, url))

    def check(self, founding: Founding) -> None:
        """All that `scrapy crawl` checks before it starts, as the first drone does. CannotStart."""
        own = self._settings.copy()
        self._spider.update_settings(own)
        ours = issubclass(load_object(own["SCHEDULER"]), FrontierScheduler)
        if not ours and ADDON not in map(path_of, own.getdict("ADDONS")):
            raise CannotStart(f"SCHEDULER = {own['SCHEDULER']!r}: only webcrawl's own shares a crawl")
        if own.getdict("FEEDS"):
            raise CannotStart("FEEDS: all drones would write into the same file: use OUTPUTS, or a pipeline")
        checked = self._settings.copy()
        given = self.settings_of(founding, founding.drones[0], None)  # nobody has put seeds into a server of our own
        checked.setdict(given, "cmdline")
        preflight(checked, self._spider, self._arguments)


def given_by_command(settings: BaseSettings) -> dict[str, str]:
    """The settings of the command line, as its `-s` options would say them."""
    names = [name for name in settings if settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]]
    return {name: _word(settings[name]) for name in names}


def _word(value: Any) -> str:
    """A setting's value as `-s` takes it: of a dict, such as ITEM_PIPELINES, Scrapy has made settings."""
    return json.dumps(value.copy_to_dict()) if isinstance(value, BaseSettings) else str(value)


def command(spider: str, arguments: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
    """The command line of a drone."""
    options = [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    return [*DRONE, spider, *options, *(word for name, value in settings.items() for word in ("-s", f"{name}={value}"))]


def usable_cores() -> list[int]:
    """Those on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
