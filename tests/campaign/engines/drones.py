"""The drones of an engine's hive: their program, their settings, and which processes they are."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.campaign.hives import PATIENT
from tests.campaign.programs import SETTINGS
from tests.support.crawling import SETTINGS as LOOPBACK
from tests.support.hives import Hive
from tests.support.places import ROOT

PROGRAM = """#!/bin/sh
# Tells the web which drone asks, and in which of its lives, and this machine which process it is.
if [ "$1" = crawl ]; then
    drone=$WEBCRAWL_HIVE_DRONE
    [ "$drone" != auto ] || drone=$SLURM_ARRAY_TASK_ID
    export WEBCRAWL_USER_AGENT="webcrawl/1 (drone $drone, life $$)"
    echo $$ > {folder}/pids/$drone.new && mv {folder}/pids/$drone.new {folder}/pids/$drone
fi
PYTHONPATH={root} exec {python} -m webcrawl "$@"
"""
SECONDS = 1200.0  # in which everything happens that is waited for, on a busy machine too
PAUSE = 0.2


class Missing(Exception):  # noqa: N818 - no fault of the hive
    """The engine is not installed, and cannot be installed here."""


class Drones:
    """What all engines run. `hive` starts nothing here: it knows the folders, and judges."""

    def __init__(self, folder, web, number):
        self.folder = folder
        self.hive = Hive(
            folder / "hive", web, url="", drones=number, settings={**SETTINGS, **PATIENT}
        )
        self.killed = set()  # numbers and lives
        (folder / "pids").mkdir()
        (folder / "bin").mkdir()
        self.program = folder / "bin/webcrawl"
        self.program.write_text(PROGRAM.format(folder=folder, root=ROOT, python=sys.executable))
        self.program.chmod(0o755)

    @property
    def seeds(self):
        return self.hive.folder / "seeds.txt"

    @property
    def command(self):
        return [str(self.program), "crawl", "web", "-a", f"seeds={self.seeds}"]

    @property
    def settings(self):
        """The environment of all drones alike; the engine gives each its number and folder."""
        values = {**LOOPBACK, **self.hive.crawls[0].settings}
        for name in ("HIVE_DRONE", "REDIS_URL"):
            del values[name]
        return {f"WEBCRAWL_{name}": str(value) for name, value in values.items()}

    def jobdir(self, drone):
        return self.hive.folder / f"drone-{drone}"

    def pid(self, drone):
        """Return the process of this drone's latest life, or None before its first."""
        with suppress(FileNotFoundError):
            return int((self.folder / f"pids/{drone}").read_text())
        return None

    def kill(self, drone):
        """Kill -9 a drone, and return the process that it was."""
        pid = self.pid(drone)
        self.killed.add((drone, pid))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return pid


def wait_for(engine, happened, what):
    """Return when it has happened; the engine does meanwhile what it has to do in turns."""
    end = time.monotonic() + SECONDS
    while not happened():
        engine.tend()
        assert time.monotonic() < end, f"{what}: not within {SECONDS:g} s"
        time.sleep(PAUSE)


def tail(path: Path, characters=3000):
    return path.read_text(errors="replace")[-characters:] if path.exists() else ""
