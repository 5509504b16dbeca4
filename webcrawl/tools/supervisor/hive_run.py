"""Founds a hive on this machine, or goes on with one, and watches it to its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scrapy.settings import Settings
from scrapy.utils.log import configure_logging

from webcrawl.adapter.extensions.summary import summary
from webcrawl.adapter.redis_client import has_redis
from webcrawl.base.errors import CannotStart
from webcrawl.base.quantities import count
from webcrawl.base.readable import ReadableFormatter
from webcrawl.crawl.hive.drone_process import DroneProcess, Unstored
from webcrawl.crawl.hive.hive_folder import Founding, saved
from webcrawl.crawl.hive.supervising import Supervisor
from webcrawl.store.jobdir import stats_file
from webcrawl.tools.supervisor import servers
from webcrawl.tools.supervisor.display import Display
from webcrawl.tools.supervisor.hive_watch import Watching, lost_in, repeat_change
from webcrawl.tools.supervisor.plan import Plan, usable_cores

logger = logging.getLogger(__name__)

TICK = 0.1  # seconds
LEFT = 60.0  # seconds in which drones of a supervisor that was killed have ended
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class HiveRun:
    """One run of a hive. `pin`: each drone on a core of its own, as far as there are enough."""

    def __init__(self, settings: Settings, plan: Plan, *, pin: bool = False) -> None:
        self._settings, self._plan, self._folder = settings, plan, plan.folder
        self._cores = usable_cores() if pin else []

    def run(self) -> int:
        """The exit status, once all drones have ended. CannotStart, HiveError: none was started."""
        self._folder.read()  # before anything is made: something else may be there
        lock = self._folder.lock()
        try:
            before = self._folder.read()
            founding = self._plan.founding(before)
            self._wait_for_the_last_run(founding)
            with self._server(founding) as self._url:
                self._plan.check(founding)
                if before is None:  # else `resize` may have written to it meanwhile
                    self._folder.write(founding)
                self._folder.check_logs(founding.drones)
                self._configure_log()
                return self._crawl(founding, new=before is None)
        finally:
            lock.close()

    def _wait_for_the_last_run(self, founding: Founding) -> None:
        """Drones whose supervisor was killed end by themselves, with a checkpoint."""
        end, told = time.monotonic() + LEFT, False
        while left := [number for number in founding.drones if self._folder.running(number)]:
            if time.monotonic() > end:
                raise CannotStart(f"{self._folder.drone(left[0])}: another process is using this drone's state")
            if not told:
                sys.stderr.write(f"waiting for {count(len(left), 'drone')} of an earlier run to end\n")
                told = True
            time.sleep(TICK)

    @contextmanager
    def _server(self, founding: Founding) -> Iterator[str | None]:
        """The address of a server of the hive's own, while it runs; None: the settings name one."""
        self._own = None
        if has_redis(self._settings):
            self._operators = servers.named(self._settings, founding.name)
            yield None
            return
        with servers.own(self._folder.server, self._plan.memory) as self._own:
            self._operators = servers.at(self._own.url, founding.name)
            yield self._own.url

    def _configure_log(self) -> None:
        configure_logging(self._settings)
        for handler in logging.getLogger().handlers:
            handler.setFormatter(ReadableFormatter(handler.formatter or logging.Formatter()))

    def _crawl(self, founding: Founding, *, new: bool) -> int:
        def start(number: int) -> DroneProcess:
            unstored.begins(number)
            core = self._cores[number % len(self._cores)] if self._cores else None
            return DroneProcess(self._plan.command_of(founding, number, self._url), self._folder.log(number), core)

        begun, before = time.monotonic(), int(saved(self._folder)["pages"])
        drones = count(len(founding.drones), "drone")
        said = f"a new hive of {drones}" if new else f"resumed by {drones} with {count(before, 'page')}"
        change = f"; the change to {count(len(founding.wanted), 'drone')} goes on" if founding.wanted else ""
        logger.info("%s: %s%s", self._folder.path, said, change)
        asyncio.run(self._say_who_shares(founding))
        unstored = Unstored(self._folder.figures)
        supervisor = Supervisor(
            start,
            lambda number: self._folder.figures(number).get("reason"),
            unstored=unstored.files,
            unkept=unstored.requests,
        )
        watching = Watching(self._folder, self._operators, self._own, lambda: supervisor.ended)
        asyncio.run(self._watch(supervisor, watching))
        for number in SIGNALS:  # all is over
            signal.signal(number, signal.SIG_IGN)
        found = saved(self._folder)
        self._write(found)
        for line in summary(self._folder.path, found, time.monotonic() - begun, before):
            logger.info("%s", line)
        return supervisor.status or int(watching.trouble is not None)

    async def _say_who_shares(self, founding: Founding) -> None:
        """Said at each start: a server that nobody has used yet knows nothing of it."""
        operator = self._operators()
        try:
            if lost := lost_in(founding):
                await operator.resize(founding.wanted or founding.drones, lost)
            else:
                await repeat_change(operator, await operator.look(), founding)
        finally:
            await operator.close()

    async def _watch(self, supervisor: Supervisor, watching: Watching) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, supervisor.signalled)
        loop.add_signal_handler(signal.SIGUSR1, supervisor.checkpoint)
        live = sys.stderr.isatty()
        supervisor.add(watching.drones)
        asking = asyncio.create_task(watching.run())
        try:
            with Display(live=live, logged=not live or bool(self._settings["LOG_FILE"])) as display:
                while supervisor.working:
                    supervisor.step()
                    if watching.trouble is not None:
                        supervisor.stop()
                    supervisor.add(watching.drones)
                    display.show(watching.figures, supervisor.running + len(supervisor.down), supervisor.down)
                    await asyncio.sleep(TICK)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await watching.last()

    def _write(self, found: Mapping[str, Any]) -> None:
        try:
            stats_file.write(self._folder.path, stats_file.plain(found))
        except OSError as error:
            logger.warning("%s: not written: %s", self._folder.stats, error)
