"""A crawl by two drones on one machine, as a user starts it."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.support.crawling import PATIENCE, SETTINGS, wait_until
from tests.support.places import ROOT


@pytest.fixture(name="start")
def _start(tmp_path, simweb):
    """Starts a hive on a small web; its JOBDIR is `job`."""
    server = simweb(8, 64)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    started = []

    def start(*words, **settings):
        values = {**SETTINGS, "DNS_NAMESERVERS": server.nameserver, "JOBDIR": tmp_path / "job", **settings}
        options = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
        line = ["-m", "scrapy", "hive", "web", "-a", f"seeds={tmp_path}/seeds.txt", *options, *map(str, words)]
        started.append(subprocess.Popen([sys.executable, *line], cwd=ROOT, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def ended(process):
    """Its exit status and what it said."""
    said = process.communicate(timeout=PATIENCE)[1]
    return process.returncode, said


def crawled(jobdir):
    """How often each page is in the logs of all drones."""
    lines = [line.split() for log in jobdir.glob("drone-*/logs/crawl.log") for line in log.read_text().splitlines()]
    return Counter(line[3] for line in lines if not line[3].endswith("/robots.txt"))


def pages(jobdir):
    return sum(crawled(jobdir).values())


def test_interrupted_and_to_the_end(start, tmp_path):
    """Two drones crawl the whole web together, each page once, and end by themselves with one summary.

    Ctrl-C, or a kill -9 of what watches the drones, and the same command once more change nothing of that.
    """
    slow = {"POLITENESS_MIN_DELAY": 0.3}
    for most, number, words in [(15, signal.SIGINT, ("-n", 2)), (30, signal.SIGKILL, ())]:
        process = start(*words, CHECKPOINT_INTERVAL=1, **slow)
        wait_until(lambda: pages(tmp_path / "job") > most)  # noqa: B023 - it is called here
        os.kill(process.pid, number)
        status, said = ended(process)
        assert status == (0 if number == signal.SIGINT else -number), said

    status, said = ended(start(**slow))

    found = crawled(tmp_path / "job")
    assert status == 0, said
    assert (len(found), max(found.values())) == (64, 1)
    assert re.search(r" from 8 hosts; 0 URLs queued, 0 failures\n", said)
    assert all((tmp_path / f"job/drone-{drone}/logs/crawl.log").stat().st_size for drone in range(2))
