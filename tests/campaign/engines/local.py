"""No engine: this process starts the drones, and again if a signal has killed them."""

import os
import subprocess
from contextlib import contextmanager

from tests.campaign.engines.drones import tail
from tests.support.hive_server import stream_server

STOPPED = 75
WORDS = {0: "finished", STOPPED: "stopped"}


class Local:
    """`outcomes`: finished, stopped or a failure, of each drone that has ended."""

    def __init__(self, drones, url):
        self._drones = drones
        self._running = {}
        self._stopping = set()
        self.url = url
        self.password_file = None
        self.outcomes = {}
        self.strikes = {}

    def start(self, numbers):
        for drone in numbers:
            self.outcomes.pop(drone, None)
            self._stopping.discard(drone)
            self._start(drone)

    def _start(self, drone):
        settings = {
            "WEBCRAWL_REDIS_URL": self.url,
            "WEBCRAWL_HIVE_DRONE": str(drone),
            "WEBCRAWL_JOBDIR": str(self._drones.jobdir(drone)),
            "WEBCRAWL_STOPPED_STATUS": str(STOPPED),
        }
        with (self._drones.folder / f"drone-{drone}.log").open("ab") as log:
            self._running[drone] = subprocess.Popen(
                self._drones.command,
                env={**os.environ, **self._drones.settings, **settings},
                stdout=log,
                stderr=log,
            )

    def tend(self):
        for drone, process in [*self._running.items()]:
            status = process.poll()
            if status is None:
                continue
            del self._running[drone]
            if status < 0 and drone not in self._stopping:
                self._start(drone)
            elif status < 0:  # before it could listen to the signal
                self.outcomes[drone] = WORDS[STOPPED]
            else:
                self.outcomes[drone] = WORDS.get(status, f"failed with status {status}")

    def stop(self, numbers):
        for drone in numbers:
            self._stopping.add(drone)
            self._running[drone].terminate()

    def said(self, drone):
        return tail(self._drones.folder / f"drone-{drone}.log")

    def end(self):
        for process in self._running.values():
            process.kill()
            process.wait()


def require():
    """Python alone is needed."""


@contextmanager
def engine(drones):
    with stream_server(drones.folder / "server") as server:
        local = Local(drones, server.url)
        try:
            yield local
        finally:
            local.end()
