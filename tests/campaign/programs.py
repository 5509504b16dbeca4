"""What the programs of a campaign share: crawls in processes of their own, a hostile web, lines of
output.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.crashes import HOSTILE
from tests.support.crawling import Crawl, Running
from webcrawl.lab.simweb import World, running

IN_FLIGHT = 60
# over TLS it hangs, even without kills
MIX = {kind: share for kind, share in HOSTILE.items() if kind != "trickle"}
SETTINGS = {
    "CONCURRENT_REQUESTS": IN_FLIGHT,
    "DNS_TIMEOUT": 5,
    "DOWNLOAD_TIMEOUT": 3,
    # Five broken URLs in a row take seconds: their host, which answers others, is not given up.
    "HOST_PATIENCE": 20,
    "OUTAGE_END_WAIT": 30,
}
SLACK = 0.1  # seconds until server and client on a busy machine notice that an answer has ended


@dataclass
class Process:
    """A program's process, with the interface of multiprocessing."""

    program: subprocess.Popen

    @property
    def pid(self):
        return self.program.pid

    @property
    def exitcode(self):
        return self.program.poll()

    def is_alive(self):
        return self.program.poll() is None

    def kill(self):
        self.program.send_signal(signal.SIGKILL)

    def join(self, seconds=None):
        try:
            self.program.wait(seconds)
        except subprocess.TimeoutExpired:
            return


class Command(Crawl):
    """A crawl started from the command line."""

    def start(self, **settings):
        command = [sys.executable, "-m", *self.words(**settings)]
        with self.output.open("wb") as output:
            program = subprocess.Popen(command, cwd=self.project, stdout=output, stderr=output)
        return Running(self, Process(program))


@contextmanager
def workshop(name):
    """A folder that is removed in the end if all was well, and a function that starts synthetic
    webs.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    with ExitStack() as stack:

        def simweb(hosts, pages, *, latency=0.0, **world):
            world = World(hosts, pages, **{"port": 0, "tls_port": 0, "addresses": 16, **world})
            return stack.enter_context(running(world, latency=latency))

        try:
            yield folder, simweb
        except BaseException:
            say(f"all of it is in {folder}")
            raise
    shutil.rmtree(folder)


def hostile_web(simweb, options):
    """A web of every kind, as large as the command line says."""
    return simweb(
        options.hosts, options.pages, seed=options.seed, mix=MIX, size=(2000, 3000), slow=0.02
    )


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def tell(**figures):
    """The figures of a program that has found nothing wrong: its last line."""
    say(json.dumps(figures))
