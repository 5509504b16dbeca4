"""Long crash tests: `python -m tests.crash_long --kills 20 --pages 1200`, `… --settings random`, `… --faults`.

See docs/crashes.md.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from random import Random

from tests.crash.test_faults import Faulty, every_fault, killed_in_the_middle, sample
from tests.support.crashes import HOSTILE, assert_as_untouched, crash, crawl_of, warm
from tests.support.crawling import Crawl, Running
from tests.support.restarts import drawn
from webcrawl.lab.simweb import World, running

IN_FLIGHT = 60
MIX = {kind: share for kind, share in HOSTILE.items() if kind != "trickle"}  # over TLS it hangs, even without kills
SETTINGS = {"CHECKPOINT_INTERVAL": 0.1, "CONCURRENT_REQUESTS": IN_FLIGHT, "DNS_TIMEOUT": 5, "DOWNLOAD_TIMEOUT": 3}
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


def kill(options, folder, simweb):
    """Kills one crawl as often as asked for, and compares it with an untouched crawl of the same web."""
    warm()
    begun, chance = time.monotonic(), Random(options.seed)
    server, quiet = (
        simweb(options.hosts, options.pages, seed=options.seed, mix=MIX, size=(2000, 3000), slow=0.02) for _ in range(2)
    )
    crawl = crawl_of(folder / "killed", server, SETTINGS, Command)
    each = max(20, options.pages * 5 // (options.kills + 1))  # three requests per page, and nearly as many lost ones
    settings = _told(drawn(Random(options.seed))) if options.settings == "random" else repeat({})
    requests = (each // 6, each // 2)
    killed = crash(
        crawl, server, chance, kills=options.kills, requests=requests, settings=settings, patience=150, pause=0.3
    )
    whole = crash(crawl_of(folder / "whole", quiet, SETTINGS, Command), quiet, chance, patience=150)
    assert len(killed.deaths) == options.kills, crawl.output.read_text()[-2000:]
    assert_as_untouched(server, killed, whole, IN_FLIGHT, slack=SLACK)
    _say(
        f"{len(killed.deaths)} kills, {len(killed.hits)} requests where an untouched crawl took {len(whole.hits)}; "
        f"{len(killed.cut.logged)} URLs, {killed.cut.archived.total()} captures in {len(killed.cut.files)} files; "
        f"finished at each kill: {[len(death.cut.logged) for death in killed.deaths]}; "
        f"answered before the checkpoint and not in it: at most {max(len(d.missing) for d in killed.deaths)}; "
        f"{time.monotonic() - begun:.0f} s"
    )


def fault(options, folder, simweb):
    """Makes every disk operation of a small crawl, and of a resumed one, fail or be the last, in every way."""
    for number, prepare in enumerate((None, killed_in_the_middle)):
        begun = time.monotonic()
        (folder / str(number)).mkdir()
        crawl = Faulty(simweb, folder / str(number))
        if prepare is not None:
            prepare(crawl)
        found = crawl.operations()
        faults = sample(every_fault(found), Random(options.seed), options.most)
        ends = Counter(crawl.suffer(fault) for fault in faults)
        _say(
            f"{'resumed' if prepare else 'new'} crawl: {found.total()} operations of {len(found)} kinds, {len(faults)} "
            f"faults tried, {ends[True]} happened, each followed by a cut and a whole crawl; "
            f"{time.monotonic() - begun:.0f} s"
        )


def _told(settings):
    """The settings of each run, printed before it begins."""
    for number, values in enumerate(settings, 1):
        _say(f"run {number}: {' '.join(f'{name}={value}' for name, value in values.items())}")
        yield values


def _say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.crash_long", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--hosts", type=int, default=150)
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--settings", choices=("same", "random"), default="same", help="of each run after a kill")
    parser.add_argument("--faults", action="store_true", help="all faults, instead of kills")
    parser.add_argument("--most", type=int, default=10**9, help="no more faults than these of each crawl")
    options = parser.parse_args()
    _say(f"seed {options.seed}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crash-")))

        def simweb(hosts, pages, *, latency=0.0, **world):
            world = World(hosts, pages, **{"port": 0, "tls_port": 0, "addresses": 16, **world})
            return stack.enter_context(running(world, latency=latency))

        (fault if options.faults else kill)(options, folder, simweb)


if __name__ == "__main__":
    main()
