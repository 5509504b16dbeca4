"""Runs the drones of a hive as Ray actors, each on the node that has its disk (docs/ray.md).

    python hive.py 0-3 --folder /DISK/news -- webcrawl crawl web -a seeds=/SHARED/seeds.txt

Settings are those of this process's environment, WEBCRAWL_NAME=VALUE. Ctrl-C or SIGTERM stops the
drones, each with a checkpoint; the same command resumes. Exit status: 0 if the drones of this
command have finished, 75 if they were stopped, 1 if one has failed.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import ray

FINISHED, FAILED, STOPPED = 0, 1, 75
WORDS = {FINISHED: "finished", STOPPED: "stopped: the same command resumes"}
PATIENCE = 30.0  # seconds until a drone must hear that it is to stop
PAUSE = 5.0  # seconds before a drone that was killed is started again


@ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1, max_concurrency=2)
class Drone:
    """A drone. If its worker or its node dies, Ray calls `crawl` again where the disk is."""

    def __init__(self, number, folder, command, settings):
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._command = command
        self._environment = {
            **os.environ,
            **settings,
            "WEBCRAWL_LOG_FILE": f"{folder}/drone-{number}.log",
            "WEBCRAWL_HIVE_DRONE": str(number),
            "WEBCRAWL_JOBDIR": f"{folder}/drone-{number}",
            "WEBCRAWL_STOPPED_STATUS": str(STOPPED),
        }
        self._process = None
        self._stopping = threading.Event()

    def crawl(self):
        """Return the exit status of the drone, which is started again if a signal has killed it."""
        while not self._stopping.is_set():
            self._process = subprocess.Popen(  # noqa: S603 - what was typed after --
                self._command, env=self._environment
            )
            if self._stopping.is_set():
                self._process.terminate()
            status = self._process.wait()
            if status >= 0:
                return status
            self._stopping.wait(PAUSE)
        return STOPPED

    def stop(self):
        """End the drone with a checkpoint."""
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()


def main():
    options = parsed()
    ray.init(address="auto", namespace="webcrawl")
    # after ray.init, which has a handler of its own
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    drones = {number: started(number, options) for number in options.drones}
    crawls = {drone.crawl.remote(): number for number, drone in drones.items()}
    statuses = set()
    while crawls:
        try:
            (ended, *_), _ = ray.wait([*crawls])
        except KeyboardInterrupt:
            statuses |= {STOPPED}
            for crawl in unheard({crawl: drones[number] for crawl, number in crawls.items()}):
                say(f"drone {crawls.pop(crawl)}: not running, because no node has its disk")
            continue
        status, words = outcome(ended)
        statuses.add(status)
        say(f"drone {crawls.pop(ended)}: {words}")
    return FAILED if FAILED in statuses else max(statuses)


def unheard(running):
    """Stop the drones of these crawls, and return the crawls whose drones do not answer."""
    stops = {drone.stop.remote(): crawl for crawl, drone in running.items()}
    answered, _ = ray.wait([*stops], num_returns=len(stops), timeout=PATIENCE)
    return [crawl for stop, crawl in stops.items() if stop not in answered]


def outcome(crawl):
    """Return the exit status that counts for this command, and what to say of the drone."""
    try:
        status = ray.get(crawl)
    except ray.exceptions.RayError as error:  # such as a command that is not found there
        return FAILED, f"failed: {str(error).strip().splitlines()[-1]}"
    if status in WORDS:
        return status, WORDS[status]
    return FAILED, f"failed with status {status}"


def started(number, options):
    """Return the actor of this drone."""
    settings = {name: text for name, text in os.environ.items() if name.startswith("WEBCRAWL_")}
    disk = f"drone-{number}"
    if disk not in ray.cluster_resources():
        say(
            f"drone {number} waits for a node that was started with --resources='{{\"{disk}\": 1}}'"
        )
    name = f"{settings.get('WEBCRAWL_HIVE_NAME', 'web')}-{number}"
    try:
        return Drone.options(name=name, resources={disk: 1}).remote(
            number, options.folder, options.command, settings
        )
    except ValueError as error:
        raise SystemExit(f"drone {number} runs already, or has not ended yet: {error}") from error


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drones", type=numbers, help="numbers of drones: 3, or 0-3")
    parser.add_argument("--folder", required=True, help="the folder of JOBDIRs on each node's disk")
    parser.add_argument("command", nargs="+", help="what each drone runs, after --")
    return parser.parse_args()


def numbers(text):
    """Return the drones of `3` or `0-3`. Raise ValueError if there are none."""
    first, _, last = text.partition("-")
    found = range(int(first), int(last or first) + 1)
    if not found:
        raise ValueError(text)
    return found


def say(line):
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
