"""Kills, grows, shrinks, stops and resumes a hive that an engine runs, and counts what it has lost.

    python -m tests.campaign.engines slurm|ray|local --seed 1

Exit status 69: the engine is not installed, and a line says so. See
docs/checkpoints-and-crashes.md.
"""

import argparse
import os
import subprocess
import sys
import time
from importlib import import_module
from random import Random

from tests.campaign.engines.drones import Drones, Missing, wait_for
from tests.campaign.engines.judge import NONE, archived_in, counts, logged_in
from tests.campaign.programs import SLACK, say, tell, workshop
from tests.support.hives import NAME, assert_whole

ENGINES = {
    "slurm": "tests.campaign.engines.slurm",
    "ray": "tests.campaign.engines.ray_cluster",
    "local": "tests.campaign.engines.local",
}
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h
SMALL, LARGE = range(4), range(6)


class Trial:
    """One hive under one engine."""

    def __init__(self, engine, drones, web, chance):
        self._engine = engine
        self._drones = drones
        self._web = web
        self._chance = chance
        self._begun = time.monotonic()
        self.strokes = 0

    def run(self):
        """Whatever can happen to a hive, and in the end its drones have finished."""
        engine = self._engine
        self._say("starts with 4 drones")
        engine.start(SMALL)
        self._more()
        self._kill(*self._chance.sample(SMALL, 1))
        self._kill(*self._chance.sample(SMALL, 2))
        for name, strike in engine.strikes.items():
            self._more()
            self._strike(name, strike)
        self._grow()
        self._kill(*self._chance.sample(LARGE, 1))
        self._shrink()
        self._kill(*self._chance.sample(SMALL, 1))
        self._more()
        self._say("is stopped")
        engine.stop(SMALL)
        self._end("stopped", SMALL)
        self._say("resumes")
        engine.start(SMALL)
        self._end("finished", SMALL)
        self._say("has finished")

    def _say(self, what):
        seconds = time.monotonic() - self._begun
        say(f"{seconds:4.0f} s, {self._web.log.count:5} requests: the hive {what}")

    def _wait(self, happened, what):
        """Wait for it; no drone may fail meanwhile."""

        def has_happened():
            outcomes = self._engine.outcomes
            assert {*outcomes.values()} <= {"finished", "stopped"}, self._why("a drone has failed")
            return happened()

        wait_for(self._engine, has_happened, what)

    def _more(self):
        """Wait until the web was requested some more; the hive must not have ended by then."""
        goal = self._web.log.count + self._chance.randint(20, 60)
        self._wait(lambda: self._web.log.count >= goal or self._ended(), "more requests")
        assert not self._ended(), self._why("a drone ended too early, or the web is too small")

    def _ended(self):
        return {
            drone: outcome for drone, outcome in self._engine.outcomes.items() if drone in SMALL
        }

    def _why(self, what):
        said = "".join(f"-- drone {drone}\n{self._engine.said(drone)}\n" for drone in LARGE)
        return f"{what}: {self._engine.outcomes}\n{said}"

    def _kill(self, *drones):
        self._more()
        self._strike("is killed", lambda: {*map(self._killed, drones)})

    def _killed(self, drone):
        self._drones.kill(drone)
        return drone

    def _strike(self, name, strike):
        """Strike, and wait until the engine has brought back the drones that it hit."""
        before = {drone: self._drones.pid(drone) for drone in LARGE}
        hit = strike()
        self.strokes += 1
        self._say(f"is struck: {name} {sorted(hit) or ''}")
        self._wait(
            lambda: all(self._drones.pid(drone) != before[drone] for drone in hit),
            f"drones {hit} come again after: {name}",
        )

    def _grow(self):
        self._more()
        self._say("grows to 6 drones")
        for _ in LARGE[len(SMALL) :]:
            self._drones.hive.add()
        order = self._resize(len(LARGE))
        self._engine.start(LARGE[len(SMALL) :])
        self._end_order(order)

    def _shrink(self):
        self._more()
        self._say("shrinks to 4 drones")
        self._drones.hive.left = True
        self._end_order(self._resize(len(SMALL)))
        self._end("finished", LARGE[len(SMALL) :])

    def _resize(self, drones):
        engine = self._engine
        words = [self._drones.program, "hive", "resize", engine.url, "-n", str(drones)]
        words += ["-s", f"HIVE_NAME={NAME}"]
        if engine.password_file is not None:
            words += ["-s", f"REDIS_PASSWORD_FILE={engine.password_file}"]
        self._output = self._drones.folder / f"resize-{drones}.log"
        with self._output.open("wb") as file:
            return subprocess.Popen(words, env=os.environ, stdout=file, stderr=file)

    def _end_order(self, order):
        self._wait(lambda: order.poll() is not None, "the change of size ends")
        assert order.returncode == 0, self._output.read_text()

    def _end(self, outcome, numbers):
        def have_ended():
            return all(drone in self._engine.outcomes for drone in numbers)

        self._wait(have_ended, f"drones {numbers} have {outcome}")
        outcomes = self._engine.outcomes
        wrong = [drone for drone in numbers if outcomes[drone] != outcome]
        assert not wrong, self._why(f"drones {wrong} have not {outcome}")


def run(module, options, folder, simweb):
    """Run the hive, and count."""
    # so slow that it lasts: the largest hosts are requested once a second
    web = simweb(options.hosts, options.pages, seed=options.seed, size=(2000, 3000), latency=0.3)
    drones, begun = Drones(folder, web, len(SMALL)), time.monotonic()
    with module.engine(drones) as engine:
        trial = Trial(engine, drones, web, Random(options.seed))
        trial.run()
    hive, hits = drones.hive, drones.hive.hits()
    logged, archived = logged_in(hive.jobdirs), archived_in(hive.jobdirs)
    found = counts(logged, archived, hive.truth().must, hits, changes=2)
    say(
        f"{len(found.lost)} URLs lost, {len(found.twice)} kept twice, "
        f"{len(found.at_two)} hosts at two drones at once"
    )
    assert found == NONE, found
    assert_whole(hive, hits, killed=drones.killed, slack=SLACK)
    tell(
        strokes=trial.strokes, lives_killed=len(drones.killed), requests=len(hits),
        urls=len({hit.url for hit in hits}), seconds=round(time.monotonic() - begun),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.engines", description=__doc__.splitlines()[0]
    )
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    module = import_module(ENGINES[options.engine])
    try:
        module.require()
    except Missing as error:
        say(str(error))
        return UNAVAILABLE
    with workshop("engines") as (folder, simweb):
        run(module, options, folder, simweb)
    return 0


if __name__ == "__main__":
    sys.exit(main())
