"""Crawls as a user starts them: `scrapy crawl …` in a separate process, against servers on
loopback.

The processes are forked from one that has imported everything: start-up takes a twentieth of two
seconds.
"""

import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from tests.support.places import ROOT

# seconds after which a crawl that has not ended is a failure, on a busy machine too
PATIENCE = 120.0
POLITE = {"factor": 2.0, "minimum": 0.01, "maximum": 0.5, "crawl_delay_max": 0.5}
"""Politeness that a test can wait for: simweb's `mercator` takes it as it is."""
SETTINGS = {
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16",
    "POLITENESS_FACTOR": POLITE["factor"],
    "POLITENESS_MIN_DELAY": POLITE["minimum"],
    "POLITENESS_MAX_DELAY": POLITE["maximum"],
    "CRAWL_DELAY_MAX": POLITE["crawl_delay_max"],
    "RETRY_AFTER_MAX": POLITE["crawl_delay_max"],
    "HOST_RETRY_WAIT": 0.1,
    "HOST_PATIENCE": 1,
    "OUTAGE_END_WAIT": 2,
    "URL_MAX_DEPTH": 60,
    "DOWNLOAD_TIMEOUT": 1.2,
    "DNS_TIMEOUT": 1,
    "MIN_FREE_DISK": 0,
    "HOST_MAX_FAILURES": 5,
    "TRAP_MAX_PAGES": 20,
    "SOFT404_PROBE": 0,  # the truth of a synthetic web has no request that no link leads to
}
QUICK = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "DOWNLOAD_TIMEOUT": 20,
    "DNS_TIMEOUT": 20,
}
"""For webs in which nothing is slow on purpose: the machine may be."""
PATIENT = {"DOWNLOAD_TIMEOUT": 4, "DNS_TIMEOUT": 4}
"""For webs in which something never answers: on a busy machine the others may need seconds."""
_forked = get_context("forkserver")
_forked.set_forkserver_preload(["tests.support.crawling_loaded"])


@dataclass
class Crawl:
    """A JOBDIR into which any number of runs crawl; these settings hold for all of them."""

    jobdir: Path
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    spider: str = "web"
    project: Path = ROOT
    environment: dict[str, str] = field(default_factory=dict)
    output: Path = Path()  # what the last run printed; by default beside the folder

    def __post_init__(self):
        if self.output == Path():
            self.output = self.jobdir.with_suffix(".out")

    def run(self, **settings):
        """Crawl to the end, and return the exit status."""
        return self.start(**settings).wait()

    def start(self, **settings):
        """Start a crawl in a separate process."""
        self.jobdir.parent.mkdir(parents=True, exist_ok=True)
        arguments = (self.words(**settings), str(self.project), str(self.output), self.environment)
        process = _forked.Process(target=_crawl, args=arguments, daemon=True)
        process.start()
        return Running(self, process)

    def words(self, **settings):
        """Return the command line."""
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
        """Interrupt the crawl as Ctrl-C does."""
        os.kill(self.process.pid, signal.SIGINT)

    def kill(self):
        """Kill the crawl by SIGKILL, and return when the process is gone."""
        self.process.kill()
        self.process.join()

    def wait(self, seconds=PATIENCE):
        """Return the exit status once the crawl has ended.

        If it does not end in time, kill it, and raise TimeoutError with its last output.
        """
        self.process.join(seconds)
        if self.process.is_alive():
            self.kill()
            raise TimeoutError(
                f"the crawl did not end in {seconds} s; it said:\n{self.crawl.output.read_text()[-3000:]}"
            )
        return self.process.exitcode


def wait_until(happened, seconds=PATIENCE, pause=0.005):
    """Wait until `happened()` is true; assert that this is within so many seconds.

    A longer `pause` between two calls suits calls that cost more.
    """
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(pause)


def copy_of(jobdir, target):
    """Return a copy of a JOBDIR without its socket, which cannot be copied."""
    return shutil.copytree(jobdir, target, ignore=shutil.ignore_patterns("control.sock"))


def scrapy(words, project, output):
    """Run any `scrapy` command in a project, and return its exit status."""
    process = _forked.Process(
        target=_crawl, args=(["scrapy", *words], str(project), str(output)), daemon=True
    )
    process.start()
    process.join(PATIENCE)
    return process.exitcode


def _crawl(words, project, output, environment=()):
    """Become, in the child, what the command line would have started."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.environ.update(environment)
    os.chdir(project)
    sys.path.insert(0, project)
    sys.argv = words
    from scrapy.cmdline import execute  # here, because the parent has imported it already

    import tests.support.crawling_loaded  # noqa: F401 - if the parent could not load it, it has kept that for itself

    execute(words)
