"""Kills of what `scrapy hive` starts: `python -m tests.campaign.supervised --kills 5 --seed 1`.

See docs/checkpoints-and-crashes.md.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from redis import Redis
from redis.exceptions import RedisError

from tests.campaign.agreement import QUEUED
from tests.campaign.hives import PATIENT
from tests.campaign.programs import SETTINGS, Process, hostile_web, say, tell, workshop
from tests.support.commands import command
from tests.support.crashes import warm
from tests.support.crawling import SETTINGS as LOOPBACK
from tests.support.crawling import wait_until
from tests.support.hives import captured
from tests.support.places import ROOT
from tests.support.snapshots import hive_snapshot
from webcrawl.lab.simweb import truth, wait_until_idle
from webcrawl.tools.verify_hive import verify_hive

STROKES = ("supervisor", "drone", "two drones", "server", "all", "drone for 90 s")
SECONDS = 900  # for a hive that is left alone
LONG = 90


class Supervised:
    """A hive as a user starts it, in one folder."""

    def __init__(self, folder, server, drones, chance):
        self.job = folder / "job"
        self._chance = chance
        self._folder = folder
        self._lives = 0
        (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
        values = {**LOOPBACK, **SETTINGS, **PATIENT, "CHECKPOINT_INTERVAL": 0.3}
        values |= {"DNS_NAMESERVERS": server.nameserver, "JOBDIR": self.job}
        options = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
        self._words = [
            "scrapy",
            "hive",
            "web",
            "-n",
            drones,
            "-a",
            f"seeds={folder}/seeds.txt",
            *options,
        ]
        self.start()

    def start(self):
        self._lives += 1
        self.output = self._folder / f"{self._lives}.out"
        with self.output.open("wb") as file:
            words = [sys.executable, "-m", *map(str, self._words)]
            self.process = Process(subprocess.Popen(words, cwd=ROOT, stdout=file, stderr=file))

    def strike(self, stroke):
        """Make one of STROKES.

        What is killed and not started again by another process is started again here.
        """
        drones, server = self.drones(), self.server()
        if stroke == "server" and server:
            self._kill(*server)
        elif stroke == "drone for 90 s" and drones:
            drone = self._chance.choice(drones)
            os.kill(drone, signal.SIGSTOP)
            time.sleep(LONG)
            with suppress(ProcessLookupError):
                os.kill(drone, signal.SIGCONT)
        elif "drone" in stroke:
            wanted = 2 if stroke == "two drones" else 1
            for drone in self._chance.sample(drones, min(len(drones), wanted)):
                self._kill(drone)
        else:
            self._kill(self.process.pid)
            self.process.join()
            for pid in [*drones, *server] if stroke == "all" else ():
                self._kill(pid)
            wait_until(lambda: not any(map(_alive, drones)))  # they end with what watches them
            self.start()

    def drones(self):
        return [pid for pid in self._children() if pid not in self.server()]

    def server(self):
        with (
            suppress(OSError, RedisError),
            Redis.from_url((self.job / "server/url").read_text().strip()) as client,
        ):
            return [client.info("server")["process_id"]]
        return []

    def _children(self):
        """Return the process ids of the supervisor's children."""
        pid = self.process.pid
        with suppress(OSError):
            return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        return []

    def _kill(self, *pids):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self):
        """Kill whatever is left of the hive."""
        left = [*self._children(), *self.server()]
        self.process.kill()
        self._kill(*left)


def _alive(pid):
    """Return whether a process still does anything.

    One whose parent is gone may stay as a zombie for a while.
    """
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def run(options, folder, simweb):
    """Strike a hive at random moments, let it end, and judge it."""
    chance = Random(options.seed)
    begun = time.monotonic()
    web = hostile_web(simweb, options)
    drones = chance.choice((2, 3, 4))
    struck = Counter()
    each = max(20, options.pages * 2 // (options.kills + 1))
    hive = Supervised(folder, web, drones, chance)
    try:
        for _ in range(options.kills):
            goal = web.log.count + chance.randint(each // 6, each // 2)
            wait_until(lambda goal=goal: web.log.count >= goal or not hive.process.is_alive())
            if not hive.process.is_alive():
                break
            stroke = chance.choice(STROKES)
            time.sleep(chance.uniform(0, 0.5))
            struck[stroke] += 1
            say(f"{stroke}, after {web.log.count} requests")
            hive.strike(stroke)
        hive.process.join(SECONDS)
        assert hive.process.exitcode == 0, (
            f"status {hive.process.exitcode}: {hive.output.read_text()[-3000:]}"
        )
    finally:
        hive.end()
    judge(hive, web)
    urls = {hit.url for hit in web.log.hits}
    tell(
        kills=struck.total(), drones=drones, of_each=dict(struck), requests=len(web.log.hits), urls=len(urls),
        seconds=round(time.monotonic() - begun),
    )  # fmt: skip


def judge(hive, web):
    """Assert that every page is in one log and in one archive, once.

    What the hive says of itself must be so.
    """
    wait_until_idle(web)
    expected, jobdirs = truth(web.world, web.world.seeds()), sorted(hive.job.glob("drone-*"))
    whole = hive_snapshot(jobdirs, stopped=True)  # as a stroke may stop a drone
    failing = expected.must & expected.busy & whole.queued.keys()
    lost = expected.must - whole.logged.keys() - failing
    assert not lost, sorted(lost)[:5]
    captures = Counter(url for jobdir in jobdirs for url in captured(jobdir))
    once = (expected.must - expected.retried) & whole.answered.keys()
    assert [url for url in once if captures[url] != 1] == []
    damage = [*verify_hive(hive.job, Counter())]
    assert damage == [], damage
    said, queued = hive.output.read_text(), whole.queued.total()
    assert QUEUED.findall(said)[-1:] == [str(queued)], (
        f"{queued} URLs are queued, and it says {said[-1000:]}"
    )
    assert json.loads((hive.job / "stats.json").read_text())["queued"] == queued
    status = command("scrapy", "hive", "status", hive.job).stdout
    assert "\nweb: finished" in status, status


def main():
    """Run the program with the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.supervised", description=__doc__
    )
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--pages", type=int, default=800)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warm()
    with workshop("supervised") as (folder, simweb):
        run(options, folder, simweb)


if __name__ == "__main__":
    main()
