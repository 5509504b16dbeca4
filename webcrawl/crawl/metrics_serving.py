"""The crawl's figures for Prometheus: on METRICS_PORT, and in METRICS_FILE (docs/metrics.md)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.periodic import Loop
from webcrawl.crawl.run import Run
from webcrawl.net.http_answerer import CannotListen, bound
from webcrawl.store.disk import rewrite

if TYPE_CHECKING:
    from webcrawl.crawl.metrics import CrawlLook, Listener

logger = logging.getLogger(__name__)

ADDRESS = "metrics.url"  # in JOBDIR: where the port is
INTERVAL = 15.0  # seconds between two writings of the file: Prometheus asks as often
MIB = 1 << 20


class MetricsServing:
    """Serves the crawl's figures on METRICS_PORT, and writes them to METRICS_FILE.

    Nothing is counted for them: the crawl's figures are read when somebody asks.
    """

    def __init__(
        self,
        values: CheckedSettings,
        run: Run,
        hive: str,
        versions: dict[str, str],
        figures: Callable[[], Mapping[str, float]],
        is_paused: Callable[[], bool],
    ) -> None:
        """`hive`: its name, if the crawl is a drone.

        `figures`: of the program that the crawl runs in. `is_paused`: whether that has paused it.
        """
        self._values = values
        self._run = run
        self._hive = hive
        self._versions = versions
        self._figures = figures
        self._is_paused = is_paused
        self._folder = Path(values["JOBDIR"])
        self._listener: Listener | None = None
        self._file: Path | None = None
        self._loop = Loop(self._write)
        self._starting: asyncio.Task[None] | None = None  # kept, so that it is not collected
        self._write_error: str | None = None  # why the last writing of the file failed
        self._committed_at = 0.0  # when the last checkpoint was taken, in seconds since 1970

    def begin(self) -> None:
        """Serve figures, and have the file written every INTERVAL; the crawl is open.

        If the port is taken, the crawl ends.
        """
        from webcrawl.crawl.metrics import (  # noqa: PLC0415 - 0.1 s for those who use it
            CrawlCollector,
            Listener,
            Told,
            path_of_drone,
        )

        values = self._values
        told = Told(self._folder / "metrics.json", self._is_ours)
        self._collector = CrawlCollector(self._look, self._labels(), self._versions, told)
        self._run.crawl.followers.add(self)
        self.committed()  # a checkpoint is taken before the first page is fetched
        if values["METRICS_PORT"] is not None:
            host, port = values["METRICS_PORT"]
            try:
                listening = bound(host, port, "METRICS_PORT")
            except CannotListen as error:  # it could when the settings were checked
                self._run.fail(error)
                return
            self._listener = Listener(listening, self._collector.text, self._unready)
            self._starting = asyncio.get_running_loop().create_task(self._listener.start())
            port = listening.getsockname()[1]
            address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            logger.info("metrics: %s/metrics", address)
            self._tell_address(address)
        if values["METRICS_FILE"] is not None:
            path = values["METRICS_FILE"]
            self._file = Path(path)
            if values["HIVE_DRONES"]:
                self._file = path_of_drone(path, values["HIVE_DRONE"])
            self._loop.start(INTERVAL)

    def end(self) -> None:
        """End serving: the crawl is over."""
        if self._listener is not None:
            self._listener.close()
            with contextlib.suppress(OSError):
                (self._folder / ADDRESS).unlink(missing_ok=True)
        self._loop.stop()
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)  # figures that nobody renews are none

    def _tell_address(self, address: str) -> None:
        """Write the address into JOBDIR: the system may have chosen the port."""
        try:
            rewrite(self._folder / ADDRESS, f"{address}\n".encode())
        except OSError as error:
            logger.warning("metrics: %s cannot be written: %s", self._folder / ADDRESS, error)

    # -- after a checkpoint

    def committed(self) -> None:
        self._committed_at = time.time()

    def finish_work(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        """There is nothing to end."""

    # -- what there is to say

    def _unready(self) -> str:
        """Return why the crawl may fetch nothing now, or nothing if it may."""
        return self._run.crawl.outlook.stopped_by or ("paused" if self._is_paused() else "")

    def _look(self) -> CrawlLook:
        """Return all figures of this moment, for the collector."""
        from webcrawl.crawl.metrics import CrawlLook  # noqa: PLC0415

        crawl = self._run.crawl
        figures = crawl.stats()
        # Links that were found lately are not even submitted; the cache would have known them too.
        known_links = figures.get("links/known", 0)
        more = {
            "ready": crawl.outlook.ready_hosts(),
            "lookups": figures["seen/submitted"] + known_links,
            "cache_hits": figures["seen/cache_hits"] + known_links,
            "bandwidth_max": crawl.parts.in_force.values["BANDWIDTH_MAX"],
            "disk_least": crawl.parts.in_force.values["MIN_FREE_DISK"] * MIB,
            **self._figures(),
            **self._checkpoint(),
        }
        # If JOBDIR was moved or removed, the next checkpoint says so.
        with contextlib.suppress(OSError):
            more["disk_free"] = shutil.disk_usage(self._folder).free
        return CrawlLook(
            {**figures, **more},
            crawl.parts.statistics.times,
            crawl.outlook.trouble,
            self._is_paused(),
        )

    def _checkpoint(self) -> dict[str, float]:
        figures = {"checkpoint_at": self._committed_at}
        seconds = self._run.keeping.seconds
        if seconds:
            figures["checkpoint_seconds"] = seconds
        return figures

    def _labels(self) -> dict[str, str]:
        values = self._values
        labels = {"jobdir": str(self._folder.absolute())}
        if values["HIVE_DRONES"]:
            labels |= {"hive": self._hive, "drone": str(values["HIVE_DRONE"])}
        return labels

    def _is_ours(self) -> bool:
        """Return whether JOBDIR is still where it was: another folder there is not ours."""
        taken = self._run.crawl.parts.db.presence.taken_away()
        # One of its files may be gone, and the folder still be ours.
        return taken is None or taken.path != self._folder

    def _write(self) -> None:
        """Write METRICS_FILE, if set; of equal failures only the first is logged."""
        if self._file is None:
            return
        try:
            rewrite(self._file, self._collector.text())  # its temporary name does not end in .prom
        except OSError as error:
            if str(error) != self._write_error:
                logger.warning("metrics: %s cannot be written: %s", self._file, error)
            self._write_error = str(error)
        else:
            if self._write_error is not None:
                logger.info("metrics: %s can be written again", self._file)
            self._write_error = None
