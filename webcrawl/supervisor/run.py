"""Founds a hive on this machine, or goes on with one, and watches it to its end."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scrapy.settings import Settings
from scrapy.utils.log import configure_logging

from webcrawl.commands.cannot_start import CannotStart
from webcrawl.extensions.summary import summary
from webcrawl.hive.figures import totals
from webcrawl.hive.folder import Founding
from webcrawl.hive.operator import own_server
from webcrawl.hive.processes import DroneProcess
from webcrawl.hive.supervising import Supervisor
from webcrawl.logs.readable import ReadableFormatter
from webcrawl.supervisor.display import Display
from webcrawl.supervisor.plan import Plan, usable_cores
from webcrawl.text.quantities import count

logger = logging.getLogger(__name__)

TICK = 0.1  # seconds
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LEFT = 60.0  # seconds in which drones of a supervisor that was killed have ended


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
            with self._server() as url:
                self._plan.check(founding, url)
                self._folder.write(founding)
                self._configure_log()
                return self._crawl(founding, url, new=before is None)
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
    def _server(self) -> Iterator[str | None]:
        """The address of a server of its own, while it runs; None: the settings name one."""
        if self._plan.has_server:
            yield None
            return
        server = own_server(self._folder)
        server.start()
        try:
            yield server.url
        finally:
            server.stop()

    def _configure_log(self) -> None:
        configure_logging(self._settings)
        for handler in logging.getLogger().handlers:
            handler.setFormatter(ReadableFormatter(handler.formatter or logging.Formatter()))

    def _crawl(self, founding: Founding, url: str | None, *, new: bool) -> int:
        def start(number: int) -> DroneProcess:
            core = self._cores[number % len(self._cores)] if self._cores else None
            return DroneProcess(self._plan.command_of(founding, number, url), self._folder.log(number), core)

        begun, before = time.monotonic(), int(totals(self._folder, founding.drones)["pages"])
        drones = count(len(founding.drones), "drone")
        said = f"a new hive of {drones}" if new else f"resumed by {drones} with {count(before, 'page')}"
        logger.info("%s: %s", self._folder.path, said)
        supervisor = Supervisor(start, lambda number: self._folder.figures(number).get("reason"))
        supervisor.add(founding.drones)
        asyncio.run(self._watch(supervisor, founding))
        for number in SIGNALS:  # all is over
            signal.signal(number, signal.SIG_IGN)
        found = totals(self._folder, founding.drones)
        self._write(found)
        for line in summary(self._folder.path, found, time.monotonic() - begun, before):
            logger.info("%s", line)
        return supervisor.status

    async def _watch(self, supervisor: Supervisor, founding: Founding) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, supervisor.signalled)
        loop.add_signal_handler(signal.SIGUSR1, supervisor.checkpoint)
        live = sys.stderr.isatty()
        with Display(live=live, logged=not live or bool(self._settings["LOG_FILE"])) as display:
            while supervisor.working:
                supervisor.step()
                display.show(lambda: totals(self._folder, founding.drones), len(founding.drones), supervisor.down)
                await asyncio.sleep(TICK)

    def _write(self, found: Mapping[str, Any]) -> None:
        new = self._folder.stats.with_suffix(".json.new")
        try:
            new.write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")
            new.replace(self._folder.stats)
        except OSError as error:
            logger.warning("%s: not written: %s", self._folder.stats, error)
