"""A hive on this machine: what it is to be, how a drone is started, and how all run."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, closing, contextmanager
from pathlib import Path
from typing import Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import load_object

from webcrawl.adapter.feeds import check_own_files
from webcrawl.adapter.given_settings import check_log_file
from webcrawl.adapter.json_log import choose_json, formatter_for
from webcrawl.adapter.preflight import preflight, spider_named
from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.adapter.server_settings import has_server
from webcrawl.adapter.user_settings import is_given
from webcrawl.base.errors import CannotStart
from webcrawl.base.loading import path_of
from webcrawl.base.program import PYTHON, ExitStatus, program
from webcrawl.base.readable import ReadableFormatter, count
from webcrawl.base.system import usable_cores
from webcrawl.crawl.checks import read
from webcrawl.crawl.default_jobdir import default_jobdir
from webcrawl.crawl.hive.errors import AnotherHive, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder, saved
from webcrawl.crawl.hive.operator import HiveLook
from webcrawl.crawl.hive.process import Child
from webcrawl.crawl.hive.supervising import Supervisor
from webcrawl.crawl.hive.transport import stream_memory
from webcrawl.crawl.job_folder import check_name
from webcrawl.crawl.last_lines import last_lines, report_command
from webcrawl.crawl.progress import stopped_by
from webcrawl.store.jobdir import stats_file
from webcrawl.store.lock import LOCK
from webcrawl.tools.supervisor import servers
from webcrawl.tools.supervisor.watching import HiveProgress, HiveWatch, drones_to_run

ADDON = "webcrawl.WebcrawlAddon"
DRONE = (*PYTHON, "-m", "scrapy", "crawl")
NOT_GIVEN = {  # by -s
    "HIVE_DRONES": "use -n to set the number of drones",
    "HIVE_DRONE": "each drone gets its own number",
    "HIVE_WHEN_DONE": "only for drones that other programs start; `hive` ends when all its drones have ended",
}


class HivePlan:
    """What a hive is to be. `drones`: how many; 0: as it has, or one per core."""

    def __init__(
        self, settings: Settings, spider: str, arguments: Mapping[str, str], drones: int
    ) -> None:
        self._settings = settings
        self._arguments = arguments
        self._drones = drones
        self._given = given_by_command(settings)
        for name in NOT_GIVEN.keys() & self._given.keys():
            raise CannotStart(f"-s {name}={self._given[name]}: {NOT_GIVEN[name]}")
        self._spider = spider_named(settings, spider)
        self.folder = HiveFolder(Path(settings["JOBDIR"] or default_jobdir(spider)))
        check_name(self.folder.path)  # before a server is started in it

    def founding(self, before: Founding | None, look: HiveLook) -> Founding:
        """Return the founding of this hive. Raise CannotStart if it was another, with members.

        `look`: at the checkpoints.
        """
        name = self._settings.get("HIVE_NAME") or self._arguments.get("name", self._spider.name)
        partition = str(self._settings.get("HIVE_PARTITION") or "domain")
        if before is not None:
            try:
                self._refuse_another(before, look, name, partition)
            except CannotStart:
                if self.folder.begun():
                    raise
            else:
                return before
        drones = self._drones or len(usable_cores())
        if left := self.folder.begun():
            members = look.map.drones if look.map is not None else left
            if self._drones != len(members):
                raise CannotStart(
                    f"{self.folder.path}: hive.json is missing, but the folder holds "
                    f"{count(len(members), 'drone')}: give "
                    f"-n {len(members)} so that none is left out"
                )
            return Founding(name, self._spider.name, partition, left[-1] + 1, members)
        return Founding(name, self._spider.name, partition, drones, tuple(range(drones)))

    def _refuse_another(self, before: Founding, look: HiveLook, name: str, partition: str) -> None:
        path = self.folder.path
        members = look.sharing or before.drones
        if self._drones not in (0, len(members)):
            raise CannotStart(
                f"{path}: has {count(len(members), 'drone')}: start it without -n, then run `{program()} hive resize "
                f"{path} -n {self._drones}`"
            )
        if self._spider.name != before.spider:
            raise CannotStart(
                f"{path}: is a hive of the spider {before.spider}, not of {self._spider.name}"
            )
        for setting, now, was in (
            ("HIVE_NAME", name, before.name),
            ("HIVE_PARTITION", partition, before.partition),
        ):
            if now != was and is_given(self._settings, setting):
                raise CannotStart(f"{setting} = {now}: {path} was founded with {was}")

    def settings_of(self, founding: Founding, number: int, url: str | None) -> dict[str, str]:
        """Return the settings that `-s` gives to one drone.

        `url`: of the server that this hive has of its own.
        """
        return {
            **self._given,
            "JOBDIR": str(self.folder.drone(number)),
            # more have joined since the founding
            "HIVE_DRONES": str(max(founding.founders, number + 1)),
            "HIVE_DRONE": str(number),
            "HIVE_NAME": founding.name,
            "HIVE_PARTITION": founding.partition,
            "LOG_FILE": "",  # to standard error, which goes to a file for each drone
            "STOPPED_STATUS": "0",  # is the hive's: a drone's would be taken for a failure
            **self._port_of(number),
            **({"REDIS_URL": url} if url else {}),
        }

    def _port_of(self, number: int) -> dict[str, str]:
        """Return the METRICS_PORT of a drone: on one machine each has another, by its number."""
        place = read("METRICS_PORT", self._settings.get("METRICS_PORT"))
        if place is None or not place[1]:
            return {}
        host, port = place
        return {"METRICS_PORT": f"{f'[{host}]' if ':' in host else host}:{port + number}"}

    def command_of(self, founding: Founding, number: int, url: str | None) -> list[str]:
        return command(self._spider.name, self._arguments, self.settings_of(founding, number, url))

    def check(self, founding: Founding) -> None:
        """Check all that `scrapy crawl` checks, as the first drone does. Raise CannotStart."""
        own = self._settings.copy()
        self._spider.update_settings(own)
        ours = issubclass(load_object(own["SCHEDULER"]), FrontierScheduler)
        if not ours and ADDON not in map(path_of, own.getdict("ADDONS")):
            raise CannotStart(
                f"SCHEDULER = {own['SCHEDULER']!r}: a hive needs webcrawl's own scheduler"
            )
        if own.getdict("FEEDS"):
            raise CannotStart(
                "FEEDS: all drones would write into the same file: use OUTPUTS, or a pipeline"
            )
        checked = self._settings.copy()
        # a server of our own begins without seeds
        given = self.settings_of(founding, founding.drones[0], None)
        checked.setdict(given, "cmdline")
        preflight(checked, self._spider, self._arguments)


def given_by_command(settings: BaseSettings) -> dict[str, str]:
    """Return the settings of the command line, as its `-s` options would say them."""
    names = [
        name for name in settings if settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]
    ]
    return {name: _word(settings[name]) for name in names}


def _word(value: Any) -> str:
    """Return a setting's value as `-s` takes it; Scrapy has made settings of a dict."""
    return json.dumps(value.copy_to_dict()) if isinstance(value, BaseSettings) else str(value)


def command(spider: str, arguments: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
    options = [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    return [
        *DRONE,
        spider,
        *options,
        *(word for name, value in settings.items() for word in ("-s", f"{name}={value}")),
    ]


logger = logging.getLogger(__name__)

TICK = 0.1  # seconds
LEFT = 60.0  # seconds in which drones of a supervisor that was killed have ended
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class HiveRun:
    """One run of a hive. `pin`: each drone on a core of its own, as far as there are enough."""

    def __init__(self, settings: Settings, plan: HivePlan, *, pin: bool = False) -> None:
        self._settings = settings
        self._plan = plan
        self._folder = plan.folder
        self._cores = usable_cores() if pin else []

    def run(self) -> int:
        """Run the drones; return the exit status. CannotStart, HiveError: no drone was started."""
        self._folder.read()  # before anything is made: something else may be there
        new = not self._folder.path.exists()
        with closing(self._folder.lock()), ExitStack() as opened:
            refused = opened.enter_context(ExitStack())
            # what another process has made meanwhile is there before, and stays
            if new and {*self._folder.path.iterdir()} <= {self._folder.path / LOCK}:
                refused.callback(shutil.rmtree, self._folder.path, ignore_errors=True)
            before = self._folder.read()
            look = self._folder.look()
            founding = self._plan.founding(before, look)
            is_new = founding is not before
            drones = drones_to_run(self._folder, founding, look)
            self._wait_for_the_last_run(drones)
            self._plan.check(founding)
            self._folder.check_logs(drones)
            self._url = opened.enter_context(self._server(founding))
            asyncio.run(self._refuse_another_hive())
            check_own_files(self._settings, self._folder.path)
            choose_json(self._settings)
            check_log_file(self._settings)
            founding = self._folder.take_over_orders(founding, look)
            # Before the first drone: a kill in between leaves a hive that no drone has entered, and
            # that the next start may found in another way. Drones without hive.json would need the
            # operator to say how many they are.
            if founding != before:
                self._folder.write(founding)
            refused.pop_all()  # from here on the folder is the hive's
            self._configure_log()
            return self._crawl(founding, is_new=is_new)

    def _wait_for_the_last_run(self, drones: Sequence[int]) -> None:
        """Wait for drones whose supervisor was killed: they end with a checkpoint."""
        end, told = time.monotonic() + LEFT, False
        while left := [number for number in drones if self._folder.running(number)]:
            if time.monotonic() > end:
                raise CannotStart(
                    f"{self._folder.drone(left[0])}: another process is using this drone's state"
                )
            if not told:
                sys.stderr.write(
                    f"waiting for {count(len(left), 'drone')} of an earlier run to end\n"
                )
                told = True
            time.sleep(TICK)

    @contextmanager
    def _server(self, founding: Founding) -> Iterator[str | None]:
        """Yield the address of a server of the hive's own, while it runs, or None."""
        self._own = None
        if has_server(self._settings):
            self._operators = servers.named(self._settings, founding.name, self._folder)
            yield None
            return
        with servers.own(self._folder.server, stream_memory(len(founding.drones))) as self._own:
            self._operators = servers.at(self._own.url, founding.name)
            yield self._own.url

    def _configure_log(self) -> None:
        configure_logging(self._settings)
        for handler in logging.getLogger().handlers:
            handler.setFormatter(ReadableFormatter(formatter_for(self._settings, handler)))

    def _crawl(self, founding: Founding, *, is_new: bool) -> int:
        stamps: dict[int, tuple[int, int]] = {}  # of each drone's stats.json when it was started

        def start(number: int) -> Child:
            stamps[number] = stats_file.stamp(self._folder.drone(number))
            core = self._cores[number % len(self._cores)] if self._cores else None
            return Child(
                self._plan.command_of(founding, number, self._url),
                self._folder.log(number),
                core=core,
            )

        def reason(number: int) -> str | None:
            folder = self._folder.drone(number)
            has_written = stats_file.stamp(folder) != stamps[number]
            return stats_file.read(folder).get("reason") if has_written else None

        begun = time.monotonic()
        before = int(saved(self._folder)["pages"])
        supervisor = Supervisor(start, reason)
        watching = HiveWatch(self._folder, self._operators, self._own, lambda: supervisor.ended)
        said = _how_it_begins(watching, None if is_new else before)
        logger.info("%s: %s", self._folder.path, said)
        asyncio.run(self._watch(supervisor, watching))
        for number in SIGNALS:  # all is over
            signal.signal(number, signal.SIG_IGN)
        found = saved(self._folder)
        if not found["drones"]:
            logger.critical(
                "%s was moved or removed; its drones have everything up to their last checkpoints",
                self._folder.path,
            )
            return 1
        self._write(found)
        lines = last_lines(self._folder.path, found, time.monotonic() - begun, before)
        reasons = {drone.get("reason") for drone in found.get("drones", ())}
        if stats_file.STORE_FAILED in reasons:  # more came than is kept
            lines[-1:] = [
                f"{self._folder.path} has everything up to the last checkpoints of its drones"
            ]
        report = [report_command(self._folder.path)] if found["answers"] or found["pages"] else []
        stopped = stopped_by(found.get("reason") or "")
        for line in [*lines, *report, *self._nothing(found), stopped]:
            if line:
                logger.info("%s", line)
        if supervisor.status:
            return supervisor.status
        if watching.trouble is not None:
            return ExitStatus.FAILED
        return self._settings.getint("STOPPED_STATUS") if stopped else ExitStatus.DONE

    def _nothing(self, found: Mapping[str, Any]) -> Iterator[str]:
        """Say where it is told why nothing came, to all drones or one: its proxy, perhaps."""
        if found.get("hive/gave_nothing"):
            yield f"nothing was fetched: see the warnings of the drones in {self._folder.log(0).parent}"
            return
        for one in found["drones"]:
            if one.get("failures") and not (one.get("answers") or one.get("pages")):
                log = self._folder.log(one["drone"])
                yield f"drone {one['drone']} has fetched nothing: see its warnings in {log}"

    async def _refuse_another_hive(self) -> None:
        """Raise AnotherHive if the server has another hive of this name, unless that gives way."""
        try:
            async with aclosing(self._operators()) as operator:
                await operator.look()
        except AnotherHive as error:
            if not (error.gives_way and self._folder.begun()):
                raise

    async def _watch(self, supervisor: Supervisor, watching: HiveWatch) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, supervisor.signalled)
        # not by the event loop, which has it end the process for a moment when it no longer listens
        signal.signal(signal.SIGUSR1, lambda *_: loop.call_soon_threadsafe(supervisor.checkpoint))
        supervisor.add(watching.drones)
        asking = asyncio.create_task(watching.run())
        display = HiveProgress(self._settings, watching, supervisor)
        display.begin()
        try:
            while supervisor.working:
                supervisor.step()
                if watching.trouble is not None:
                    supervisor.stop()
                supervisor.add(watching.drones)
                await asyncio.sleep(TICK)
        finally:
            display.close()
            # by default it would end what has yet to write the sums
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _write(self, found: Mapping[str, Any]) -> None:
        """Write the sums, and the members as the last checkpoints have them."""
        try:
            stats_file.write(self._folder.path, stats_file.plain(found))
        except OSError as error:
            logger.warning("%s: cannot be written: %s", self._folder.stats, error)
        try:
            self._folder.note_members(self._folder.look().map)
        except HiveError as error:
            logger.warning("%s", error)


def _how_it_begins(watching: HiveWatch, pages: int | None) -> str:
    """Return how many drones begin, and with how many pages; None: the hive is new."""
    drones = count(len(watching.drones), "drone")
    if pages is None:
        return f"a new hive of {drones}"
    said = f"resumed by {drones} with {count(pages, 'page')}"
    if not watching.goal:
        return said
    return f"{said}; the change to {count(watching.goal, 'drone')} continues"
