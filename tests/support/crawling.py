"""Crawls as a user starts them: `scrapy crawl …` in a process of its own, against servers on loopback.

The processes are forked off one that has imported everything already: two seconds of start-up become a twentieth.
"""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from tests.support.places import ROOT

PATIENCE = 20.0  # seconds until a crawl that does not end is a failure
POLITE = {"factor": 2.0, "minimum": 0.01, "maximum": 0.5, "crawl_delay_max": 0.5}
"""Politeness that a test can wait for: simweb's `mercator` takes it as it is."""
SETTINGS = {
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16",
    "POLITENESS_FACTOR": POLITE["factor"],
    "POLITENESS_MIN_DELAY": POLITE["minimum"],
    "POLITENESS_MAX_DELAY": POLITE["maximum"],
    "CRAWL_DELAY_MAX": POLITE["crawl_delay_max"],
    "HOST_RETRY_WAIT": 0.1,
    "URL_MAX_DEPTH": 60,
    "DOWNLOAD_TIMEOUT": 1.2,
    "DNS_TIMEOUT": 1,
    "MIN_FREE_DISK": 0,
    "HOST_MAX_FAILURES": 20,
    "TRAP_MAX_PAGES": 20,
}
_forked = get_context("forkserver")
_forked.set_forkserver_preload(["tests.support.crawling_loaded"])


@dataclass
class Crawl:
    """One folder, crawled into as often as `run` is called; settings given here hold for all runs."""

    jobdir: Path
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    spider: str = "web"
    project: Path = ROOT
    output: Path = Path()  # what the last run said; by default beside the folder

    def __post_init__(self):
        if self.output == Path():
            self.output = self.jobdir.with_suffix(".out")

    def run(self, **settings):
        """Crawls to the end; returns the exit status."""
        return self.start(**settings).wait()

    def start(self, **settings):
        """The crawl under way."""
        self.jobdir.parent.mkdir(parents=True, exist_ok=True)
        arguments = (self.words(**settings), str(self.project), str(self.output))
        process = _forked.Process(target=_crawl, args=arguments, daemon=True)
        process.start()
        return Running(self, process)

    def words(self, **settings):
        """The command."""
        words = ["scrapy", "crawl", self.spider]
        for name, value in self.arguments.items():
            words += ["-a", f"{name}={value}"]
        for name, value in {**SETTINGS, "JOBDIR": self.jobdir, **self.settings, **settings}.items():
            words += ["-s", f"{name}={value}"]
        return words

    @property
    def stats(self) -> dict:
        return json.loads((self.jobdir / "stats.json").read_text())


@dataclass
class Running:
    """A crawl's process."""

    crawl: Crawl
    process: object

    def interrupt(self):
        """What Ctrl-C does."""
        os.kill(self.process.pid, signal.SIGINT)

    def wait(self, seconds=PATIENCE):
        """The exit status of a crawl that has ended; one that does not end is killed, and told with its last words."""
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
            raise TimeoutError(
                f"the crawl did not end in {seconds} s; it said:\n{self.crawl.output.read_text()[-3000:]}"
            )
        return self.process.exitcode


def wait_until(happened, seconds=PATIENCE):
    """Looks every few milliseconds whether it has happened."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.005)


def _crawl(words, project, output):
    """The child: becomes what the command line would have started."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(project)
    sys.path.insert(0, project)
    sys.argv = words
    from scrapy.cmdline import execute  # here, because importing it is the parent's work

    execute(words)
