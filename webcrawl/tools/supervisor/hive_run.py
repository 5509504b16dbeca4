"""A hive on this machine: its plan, the start of its drones, and their run."""

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
from typing import Any, NamedTuple

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import load_object

from webcrawl.adapter.command_line_settings import check_log_file
from webcrawl.adapter.feeds import check_own_files
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
from webcrawl.crawl.hive.drone_supervisor import Supervisor
from webcrawl.crawl.hive.errors import AnotherHive, HiveError
from webcrawl.crawl.hive.hive_folder import (
    Founding,
    HiveFolder,
    merged_figures,
    saved_figures,
)
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.process import Child
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer
from webcrawl.crawl.hive.transport import stream_memory
from webcrawl.crawl.job_folder import check_name
from webcrawl.crawl.last_lines import last_lines, report_command
from webcrawl.crawl.progress import stopped_by
from webcrawl.store.jobdir import stats_file
from webcrawl.store.lock import LOCK
from webcrawl.tools.supervisor.hive_watch import HiveProgress, HiveWatch, drones_to_run
from webcrawl.tools.supervisor.servers import (
    MakeOperator,
    operator_maker_at,
    operator_maker_by_settings,
    own_server,
)

logger = logging.getLogger(__name__)

ADDON = "webcrawl.WebcrawlAddon"
DRONE_PROGRAM = (*PYTHON, "-m", "scrapy", "crawl")
REFUSED_SETTINGS = {  # that `-s` must not set, and why
    "HIVE_DRONES": "use -n to set the number of drones",
    "HIVE_DRONE": "each drone gets its own number",
    "HIVE_WHEN_DONE": "only for drones that other programs start; `hive` ends when all its drones have ended",
}
STEP_SECONDS = 0.1  # between two looks at the drones' processes
# in which the drones of a supervisor that was killed have taken their last checkpoint and ended
EARLIER_RUN_SECONDS = 60.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class HivePlan:
    """The hive that the command line describes: its folder, its members and their settings."""

    def __init__(
        self, settings: Settings, spider: str, arguments: Mapping[str, str], drones: int
    ) -> None:
        """`drones`: how many; 0 leaves the number as it is, or is one per core for a new hive.

        Raise CannotStart for a setting that the command line must not have.
        """
        self._settings = settings
        self._arguments = arguments
        self._drones = drones
        self._command_line = command_line_options(settings)
        for name in REFUSED_SETTINGS.keys() & self._command_line.keys():
            raise CannotStart(f"-s {name}={self._command_line[name]}: {REFUSED_SETTINGS[name]}")
        self._spider = spider_named(settings, spider)
        self.folder = HiveFolder(Path(settings["JOBDIR"] or default_jobdir(spider)))
        check_name(self.folder.path)  # before a server is started in it

    def founding(self, saved_founding: Founding | None, hive: HiveView) -> Founding:
        """Return the founding of this hive: the saved one, or a new one if no drone has begun.

        `hive`: its state by the checkpoints. Raise CannotStart if the command line names another
        hive than the folder holds, or if hive.json is missing and -n leaves out drones.
        """
        name = self._settings.get("HIVE_NAME") or self._arguments.get("name", self._spider.name)
        partition = str(self._settings.get("HIVE_PARTITION") or "domain")
        if saved_founding is not None:
            try:
                self._check_founding(saved_founding, hive, name, partition)
            except CannotStart:
                if self.folder.drones_let_in():
                    raise
            else:
                return saved_founding
        begun = self.folder.drones_let_in()
        if not begun:
            drones = self._drones or len(usable_cores())
            return Founding(name, self._spider.name, partition, drones, tuple(range(drones)))
        members = hive.map.drones if hive.map is not None else begun
        if self._drones != len(members):
            raise CannotStart(
                f"{self.folder.path}: hive.json is missing, but the folder holds "
                f"{count(len(members), 'drone')}: give "
                f"-n {len(members)} so that none is left out"
            )
        return Founding(name, self._spider.name, partition, begun[-1] + 1, members)

    def _check_founding(
        self, founding: Founding, hive: HiveView, name: str, partition: str
    ) -> None:
        """Raise CannotStart unless the hive of this founding is the one that was asked for."""
        path = self.folder.path
        members = hive.sharing or founding.drones
        if self._drones not in (0, len(members)):
            raise CannotStart(
                f"{path}: has {count(len(members), 'drone')}: start it without -n, then run `{program()} hive resize "
                f"{path} -n {self._drones}`"
            )
        if self._spider.name != founding.spider:
            raise CannotStart(
                f"{path}: is a hive of the spider {founding.spider}, not of {self._spider.name}"
            )
        for setting, wanted, founded_with in (
            ("HIVE_NAME", name, founding.name),
            ("HIVE_PARTITION", partition, founding.partition),
        ):
            # A default differs from what the hive was founded with, and is no wish.
            if wanted != founded_with and is_given(self._settings, setting):
                raise CannotStart(f"{setting} = {wanted}: {path} was founded with {founded_with}")

    def drone_settings(
        self, founding: Founding, number: int, server_url: str | None
    ) -> dict[str, str]:
        """Return the settings that one drone's command line has.

        `server_url`: the address of the hive's own server; None if the settings name a server.
        """
        settings = {
            **self._command_line,
            "JOBDIR": str(self.folder.drone(number)),
            # more may have joined since the founding
            "HIVE_DRONES": str(max(founding.founders, number + 1)),
            "HIVE_DRONE": str(number),
            "HIVE_NAME": founding.name,
            "HIVE_PARTITION": founding.partition,
            "LOG_FILE": "",  # to standard error, which goes to a file for each drone
            # The hive itself ends with STOPPED_STATUS: a drone's would be taken for a failure.
            "STOPPED_STATUS": "0",
            **self._metrics_port_of(number),
        }
        if server_url:
            settings["REDIS_URL"] = server_url
        return settings

    def _metrics_port_of(self, number: int) -> dict[str, str]:
        """Return a drone's METRICS_PORT, if the hive has one: drones of one machine share no port.

        The hive's port is that of drone 0; the others count up from it.
        """
        address = read("METRICS_PORT", self._settings.get("METRICS_PORT"))
        if address is None:
            return {}
        host, port = address
        if not port:  # each drone gets a free one
            return {}
        url_host = f"[{host}]" if ":" in host else host
        return {"METRICS_PORT": f"{url_host}:{port + number}"}

    def drone_command(self, founding: Founding, number: int, server_url: str | None) -> list[str]:
        """Return the command that runs one drone. `server_url` is as for `drone_settings`."""
        settings = self.drone_settings(founding, number, server_url)
        return crawl_command(self._spider.name, self._arguments, settings)

    def check(self, founding: Founding) -> None:
        """Check all that `scrapy crawl` checks, as the first drone does. Raise CannotStart."""
        spider_settings = self._settings.copy()
        self._spider.update_settings(spider_settings)
        scheduler = load_object(spider_settings["SCHEDULER"])
        is_ours = issubclass(scheduler, FrontierScheduler)
        if not is_ours and ADDON not in map(path_of, spider_settings.getdict("ADDONS")):
            raise CannotStart(
                f"SCHEDULER = {spider_settings['SCHEDULER']!r}: a hive needs webcrawl's own scheduler"
            )
        # Scrapy's feeds name a file, and drones differ only in their JOBDIR.
        if spider_settings.getdict("FEEDS"):
            raise CannotStart(
                "FEEDS: all drones would write into the same file: use OUTPUTS, or a pipeline"
            )
        # Without a server: the hive's own is not there yet, and has no seeds to be checked.
        first_drone = self.drone_settings(founding, founding.drones[0], None)
        drone_settings = self._settings.copy()
        drone_settings.setdict(first_drone, "cmdline")
        preflight(drone_settings, self._spider, self._arguments)


def command_line_options(settings: BaseSettings) -> dict[str, str]:
    """Return the settings of the command line, each as an `-s` option would give it again."""
    priority = SETTINGS_PRIORITIES["cmdline"]
    names = [name for name in settings if settings.getpriority(name) == priority]
    return {name: _option_value(settings[name]) for name in names}


def _option_value(value: Any) -> str:
    """Return a setting's value as `-s` takes it; Scrapy has made settings of a dict."""
    return json.dumps(value.copy_to_dict()) if isinstance(value, BaseSettings) else str(value)


def crawl_command(
    spider: str, arguments: Mapping[str, str], settings: Mapping[str, str]
) -> list[str]:
    words = [*DRONE_PROGRAM, spider]
    for name, value in arguments.items():
        words += ["-a", f"{name}={value}"]
    for name, value in settings.items():
        words += ["-s", f"{name}={value}"]
    return words


class HiveServer(NamedTuple):
    """The server of a hive that runs. `own` is None if the settings name the server."""

    make_operator: MakeOperator
    own: EmbeddedServer | None

    @property
    def own_url(self) -> str | None:
        return self.own.url if self.own is not None else None


class DroneStarts:
    """Starts the processes of drones, and reads why they have ended. With `cores`, pins each."""

    def __init__(
        self, plan: HivePlan, founding: Founding, server_url: str | None, cores: Sequence[int]
    ) -> None:
        self._plan = plan
        self._founding = founding
        self._server_url = server_url
        self._cores = cores
        # of each drone's stats.json when the drone was started
        self._stamps: dict[int, tuple[int, int]] = {}

    def start(self, number: int) -> Child:
        folder = self._plan.folder
        self._stamps[number] = stats_file.stamp(folder.drone(number))
        # with more drones than cores, some share one
        core = self._cores[number % len(self._cores)] if self._cores else None
        command = self._plan.drone_command(self._founding, number, self._server_url)
        return Child(command, folder.log(number), core=core)

    def end_reason(self, number: int) -> str | None:
        """Return why a drone's crawl has ended; None if it has not, since the drone was started."""
        jobdir = self._plan.folder.drone(number)
        has_written = stats_file.stamp(jobdir) != self._stamps.get(number)
        return stats_file.read(jobdir).get("reason") if has_written else None


class HiveRun:
    """One run of a hive. `pin`: each drone has a core of its own, if there are enough."""

    def __init__(self, settings: Settings, plan: HivePlan, *, pin: bool = False) -> None:
        self._settings = settings
        self._plan = plan
        self._folder = plan.folder
        self._cores = usable_cores() if pin else []

    def run(self) -> int:
        """Run the drones until all have ended; return the exit status.

        Raise CannotStart or HiveError if the hive cannot start. Then no drone was started, and a
        folder that was made for the hive is gone again.
        """
        self._folder.read()  # before anything is made: something else may be there
        is_new_folder = not self._folder.path.exists()
        with closing(self._folder.lock()), ExitStack() as opened:
            on_refusal = opened.enter_context(ExitStack())
            # what another process has made meanwhile is there before, and stays
            if is_new_folder and {*self._folder.path.iterdir()} <= {self._folder.path / LOCK}:
                on_refusal.callback(shutil.rmtree, self._folder.path, ignore_errors=True)
            saved_founding = self._folder.read()
            hive = self._folder.read_checkpoints()
            founding = self._plan.founding(saved_founding, hive)
            is_new = founding is not saved_founding
            drones = drones_to_run(self._folder, founding, hive)
            self._wait_for_earlier_run(drones)
            self._plan.check(founding)
            self._folder.check_logs(drones)
            server = opened.enter_context(self._server(founding))
            asyncio.run(self._refuse_another_hive(server.make_operator))
            check_own_files(self._settings, self._folder.path)
            choose_json(self._settings)
            check_log_file(self._settings)
            founding = self._folder.take_over_orders(founding, hive)
            # Before the first drone: a kill in between leaves a hive that no drone has entered, and
            # that the next start may found in another way. Drones without hive.json would need the
            # operator to say how many they are.
            if founding != saved_founding:
                self._folder.write(founding)
            on_refusal.pop_all()  # from here on the folder is the hive's
            self._configure_log()
            return self._crawl(founding, server, is_new=is_new)

    def _wait_for_earlier_run(self, drones: Sequence[int]) -> None:
        """Wait for drones whose supervisor was killed: they end with a checkpoint.

        Raise CannotStart if one of them runs on for EARLIER_RUN_SECONDS.
        """
        end = time.monotonic() + EARLIER_RUN_SECONDS
        is_announced = False
        while running := [number for number in drones if self._folder.is_running(number)]:
            if time.monotonic() > end:
                raise CannotStart(
                    f"{self._folder.drone(running[0])}: another process is using this drone's state"
                )
            if not is_announced:
                sys.stderr.write(
                    f"waiting for {count(len(running), 'drone')} of an earlier run to end\n"
                )
                is_announced = True
            time.sleep(STEP_SECONDS)

    @contextmanager
    def _server(self, founding: Founding) -> Iterator[HiveServer]:
        """Yield the server that the settings name, or else one of the hive's own while that runs."""
        if has_server(self._settings):
            yield HiveServer(
                operator_maker_by_settings(self._settings, founding.name, self._folder), None
            )
            return
        with own_server(self._folder.server, stream_memory(len(founding.drones))) as own:
            yield HiveServer(operator_maker_at(own.url, founding.name), own)

    def _configure_log(self) -> None:
        configure_logging(self._settings)
        for handler in logging.getLogger().handlers:
            handler.setFormatter(ReadableFormatter(formatter_for(self._settings, handler)))

    def _crawl(self, founding: Founding, server: HiveServer, *, is_new: bool) -> int:
        """Run the drones, save the sums of their figures, and log the last lines.

        Return the exit status.
        """
        begun = time.monotonic()
        pages_before = int(saved_figures(self._folder)["pages"])
        drones = DroneStarts(self._plan, founding, server.own_url, self._cores)
        supervisor = Supervisor(drones.start, drones.end_reason)
        watch = HiveWatch(self._folder, server.make_operator, server.own, lambda: supervisor.ended)
        first_line = _first_line(watch, None if is_new else pages_before)
        logger.info("%s: %s", self._folder.path, first_line)
        asyncio.run(self._supervise(supervisor, watch))
        for number in STOP_SIGNALS:  # no drone is left that one could stop
            signal.signal(number, signal.SIG_IGN)
        figures = self._last_figures(drones)
        if not figures["drones"]:
            logger.critical(
                "%s was moved or removed; its drones have everything up to their last checkpoints",
                self._folder.path,
            )
            return 1
        self._save(figures)
        is_work_left = figures.get("work_left") is not False
        was_stopped = stopped_by(figures.get("reason") or "", is_work_left=is_work_left)
        seconds = time.monotonic() - begun
        for line in [*self._last_lines(figures, seconds, pages_before), was_stopped]:
            if line:
                logger.info("%s", line)
        if supervisor.status:
            return supervisor.status
        if watch.failure is not None:
            return ExitStatus.FAILED
        return self._settings.getint("STOPPED_STATUS") if was_stopped else ExitStatus.DONE

    def _last_figures(self, drones: DroneStarts) -> Mapping[str, Any]:
        """Return the figures of all drones, without the reasons with which earlier runs ended."""
        return merged_figures(
            {
                "drone": number,
                **self._folder.figures(number),
                "reason": drones.end_reason(number),
            }
            for number in self._folder.all_drones()
        )

    def _last_lines(
        self, figures: Mapping[str, Any], seconds: float, pages_before: int
    ) -> Iterator[str]:
        """Yield what to log at the end of the run, by the figures of all drones."""
        yield from last_lines(self._folder.path, figures, seconds, pages_before)
        if figures["answers"] or figures["pages"]:
            yield report_command(self._folder.path)
        yield from self._where_failures_are_logged(figures)

    def _where_failures_are_logged(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """Yield which logs tell why nothing was fetched, by all drones or by one.

        One drone's proxy may be the cause.
        """
        if figures.get("hive/gave_nothing"):
            yield f"nothing was fetched: see the warnings of the drones in {self._folder.log(0).parent}"
            return
        for drone in figures["drones"]:
            has_fetched = drone.get("answers") or drone.get("pages")
            if drone.get("failures") and not has_fetched:
                log = self._folder.log(drone["drone"])
                yield f"drone {drone['drone']} has fetched nothing: see its warnings in {log}"

    async def _refuse_another_hive(self, make_operator: MakeOperator) -> None:
        """Raise AnotherHive if the server has another hive of this name.

        A hive that is being founded there gives way to the drones that have begun here.
        """
        try:
            async with aclosing(make_operator()) as operator:
                await operator.read_hive()
        except AnotherHive as error:
            if not (error.gives_way and self._folder.drones_let_in()):
                raise

    async def _supervise(self, supervisor: Supervisor, watch: HiveWatch) -> None:
        """Run the drones that the watch names, and show their progress, until all have ended."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, supervisor.signalled)
        # Not by the event loop: when that no longer listens, it leaves a moment in which the signal
        # ends the process.
        signal.signal(signal.SIGUSR1, lambda *_: loop.call_soon_threadsafe(supervisor.checkpoint))
        supervisor.add(watch.drones)
        watching = asyncio.create_task(watch.run())
        display = HiveProgress(self._settings, watch, supervisor)
        display.begin()
        try:
            while supervisor.working:
                supervisor.step()
                if watch.failure is not None:
                    supervisor.stop()
                supervisor.add(watch.drones)
                await asyncio.sleep(STEP_SECONDS)
        finally:
            display.close()
            # By default it would end this process, which has yet to write the sums.
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def _save(self, figures: Mapping[str, Any]) -> None:
        """Write the sums of the figures, and the members as the last checkpoints have them.

        A file that cannot be written is only warned of.
        """
        try:
            stats_file.write(self._folder.path, stats_file.plain(figures))
        except OSError as error:
            logger.warning("%s: cannot be written: %s", self._folder.stats, error)
        try:
            self._folder.note_members(self._folder.read_checkpoints().map)
        except HiveError as error:
            logger.warning("%s", error)


def _first_line(watch: HiveWatch, pages: int | None) -> str:
    """Return how many drones begin, and with how many pages; None: the hive is new."""
    drones = count(len(watch.drones), "drone")
    if pages is None:
        return f"a new hive of {drones}"
    line = f"resumed by {drones} with {count(pages, 'page')}"
    if not watch.intended_count:
        return line
    return f"{line}; the change to {count(watch.intended_count, 'drone')} continues"
