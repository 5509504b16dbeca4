"""Strokes against a running hive at random moments (seeded): its drones, its server, and the
network between them.
"""

import os
import signal
import time
from collections import Counter
from contextlib import contextmanager

import msgpack

from tests.support.crawling import PATIENCE, wait_until
from tests.support.hive_server import stream_server, wired
from tests.support.hives import NAME, Hive, assert_whole
from webcrawl.crawl.hive.redis_server.steps import COMMAND, KEPT, Keys
from webcrawl.crawl.hive.registry import RESIZE
from webcrawl.tools.verify_crawl import verify

CALM = 2.0  # seconds that most strokes take at the most
LONG = 90.0  # and one


class Campaign:
    """A hive behind a wire to its server, which gets strokes. `say` is called with each."""

    def __init__(self, hive, server, wire, chance, say=lambda _: None):
        self.hive = hive
        self._server = server
        self._wire = wire
        self._chance = chance
        self._say = say
        self._remembered = False
        self.killed = set()  # numbers and lives of the drones that were
        self.struck = []

    def run(self, strokes, requests):
        """Make each stroke after so many more requests (a range) and some milliseconds."""
        for stroke in strokes:
            if not self._more(self._chance.randint(*requests)):
                self._say("it is over before the last stroke")
                return
            time.sleep(self._chance.uniform(0, 0.05))
            begun = time.monotonic()
            self.struck.append(stroke)
            what = STROKES[stroke](self)
            name = stroke if what is None else f"{stroke} {what}"
            self._say(
                f"{name} ({time.monotonic() - begun:.1f} s; {self.hive.web.log.count} requests)"
            )

    # -- strokes at drones

    def kill_drone(self, drone=None):
        """Kill a drone, in every other case in the middle of a checkpoint, and start it again."""
        drone = self._drone() if drone is None else drone
        if self._chance.random() < 0.5:
            self._signal(drone, signal.SIGUSR1)
            time.sleep(self._chance.uniform(0, 0.05))
        self._kill(drone)
        self._pause()
        if drone in self.hive.taking_part:
            self.hive.start(drone)
        return drone

    def kill_coordinator(self):
        return self.kill_drone(self._coordinator())

    def kill_two(self):
        """Kill two drones at once, or all that there are, and start them again."""
        self._settle()
        both = self._chance.sample(
            sorted(self.hive.taking_part), min(2, len(self.hive.taking_part))
        )
        for drone in both:
            self._kill(drone)
        self._pause()
        for drone in both:
            if drone in self.hive.taking_part:
                self.hive.start(drone)
        return " and ".join(map(str, both))

    def kill_all(self):
        """Kill all drones and the server, as a power cut does, and start them again."""
        for drone in sorted(self.hive.taking_part):
            self._kill(drone)
        self._server.kill()
        self._server.restart()
        self.hive.start_all()

    def interrupt(self):
        """Interrupt a drone as Ctrl-C does, and start it again."""
        drone = self._drone()
        # it listens
        wait_until(lambda: self.hive.crawls[drone].output.stat().st_size or drone in self._ended())
        self._signal(drone, signal.SIGINT)
        status = self.hive.running[drone].wait()
        assert status == 0, f"exit status {status}: {self._tail(drone)}"
        self._pause()
        self._settle()
        if drone in self.hive.taking_part:
            self.hive.start(drone)
        return drone

    def freeze(self, seconds=None):
        """Stop a drone for longer than its lease, and let it go on."""
        drone = self._drone()
        self.hive.stopped = True
        self._signal(drone, signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.5, 3 * CALM) if seconds is None else seconds)
        self._signal(drone, signal.SIGCONT)
        return drone

    def stand_still(self):
        """Stop a drone for longer than anything of its own waits."""
        return self.freeze(LONG)

    # -- changes of the hive's size

    def join(self):
        """Add a drone, to which the others give its share."""
        drone = self.hive.add()
        self._resize()
        self.hive.start(drone)
        self._known(drone)  # one that comes when it is to leave again is refused
        return drone

    def leave(self):
        """Let a drone give away all that it has, and end. The next stroke may come meanwhile."""
        if len(self.hive.members) < 3:
            return f"as {self.join()} comes instead"
        drone = self._chance.choice(sorted(self.hive.members))
        self.hive.members.remove(drone)
        self.hive.leaving.add(drone)
        self.hive.left = True
        self._resize()
        return drone

    def _resize(self):
        wanted = msgpack.packb((RESIZE, (sorted(self.hive.members), [])))
        with self._server.client() as client:
            client.eval(COMMAND, 1, Keys(NAME).commands, wanted, "", KEPT)

    # -- strokes at the server and the network

    def remember(self):
        """A snapshot of the server, for a later stroke."""
        self._server.remember()
        self._remembered = True

    def server_empty(self):
        self._all_known()
        self._server.kill()
        self._pause()
        self._server.restart()

    def server_old(self):
        """Goes back to the last snapshot."""
        self._all_known()
        self._server.kill()
        self._pause()
        self._server.restart(old=self._remembered)
        return None if self._remembered else "(to nothing)"

    def server_full(self):
        """It takes nothing for a while; what it has, it keeps."""
        self._all_known()
        with self._server.client() as client:
            client.config_set("maxmemory", 1)
            self._pause(2)
            client.config_set("maxmemory", 0)

    def cut(self):
        self._all_known()
        self._wire.cut()
        self._pause()
        self._wire.mend()

    def silence(self):
        """Connections stay, and nothing comes through."""
        self._all_known()
        self._wire.silence()
        self._pause(2)
        self._wire.mend()

    def slow(self):
        self._wire.delay = self._chance.choice((0.02, 0.1, 0.4))
        self._pause(2)
        self._wire.mend()
        return "network"

    # --

    def _more(self, requests):
        """Waits for so many more requests; whether the hive still runs then.

        The last hosts may want two minutes.
        """
        goal = self.hive.web.log.count + requests
        wait_until(lambda: self.hive.web.log.count >= goal or self._ended(), seconds=5 * PATIENCE)
        ended = self._ended()
        for drone in ended:
            assert self.hive.running[drone].process.exitcode == 0, self._tail(drone)
            assert self.hive.crawls[drone].stats["reason"] == "finished", self._tail(drone)
        return not ended

    def _ended(self):
        return [
            drone for drone in self.hive.members if not self.hive.running[drone].process.is_alive()
        ]

    def _signal(self, drone, number):
        if self.hive.running[drone].process.is_alive():
            os.kill(self.hive.running[drone].process.pid, number)

    def _settle(self):
        """Forget drones that have given away all, and have ended."""
        for drone in sorted(self.hive.leaving):
            process = self.hive.running[drone].process
            if not process.is_alive() and self._retired(drone):
                assert process.exitcode == 0, self._tail(drone)
                self.hive.leaving.remove(drone)

    def _known(self, drone):
        """Wait until the hive knows this drone, or it has ended."""
        process = self.hive.running[drone].process
        with self._server.client() as client:
            wait_until(
                lambda: client.hexists(Keys(NAME).drones, str(drone)) or not process.is_alive()
            )

    def _all_known(self):
        """Wait until the hive knows all drones.

        A new one cannot begin without the server, and says so.
        """
        for drone in sorted(self.hive.taking_part):
            self._known(drone)

    def _retired(self, drone):
        return self.hive.crawls[drone].stats["reason"] == "finished"

    def _kill(self, drone):
        if not self.hive.kill(drone):
            self._settle()
        else:
            self.killed.add((drone, self.hive.lives[drone]))
            damages = [*verify(self.hive.jobdirs[drone], Counter())]
            assert damages == [], damages

    def _drone(self):
        self._settle()
        return self._chance.choice(sorted(self.hive.taking_part))

    def _coordinator(self):
        """Return the drone that has the lease now, or any drone if none has."""
        with self._server.client() as client:
            number = client.get(Keys(NAME).coordinator)
        return self._drone() if number is None else int(number)

    def _pause(self, times=1):
        time.sleep(self._chance.uniform(0, times * CALM))

    def _tail(self, drone):
        return self.hive.said(drone)[-3000:]


STROKES = {
    name: getattr(Campaign, name)
    for name in (
        *(
            "kill_drone",
            "kill_coordinator",
            "kill_two",
            "kill_all",
            "interrupt",
            "freeze",
            "stand_still",
        ),
        *("remember", "server_empty", "server_old", "server_full", "cut", "silence", "slow"),
        *("join", "leave"),
    )
}


@contextmanager
def campaign(folder, web, chance, say=lambda _: None, **options):
    """Yield a campaign against a new hive that has been started."""
    with stream_server(folder / "server") as server, wired(server) as (wire, url):
        hive = Hive(folder / "hive", web, url, **options)
        try:
            yield Campaign(hive.start_all(), server, wire, chance, say)
        finally:
            hive.end()


def assert_survived(struck, *, slack=0.001, patience=PATIENCE, patient=False):
    """Assert that the hive, left alone, ends like one that was never touched.

    Return what `assert_whole` does.
    """
    hive = struck.hive
    failed = [
        hive.said(drone)[-3000:] for drone, status in enumerate(hive.wait(patience)) if status
    ]
    assert failed == [], "\n".join(failed)
    assert {hive.crawls[drone].stats["reason"] for drone in hive.members} == {"finished"}
    return assert_whole(hive, hive.hits(), killed=struck.killed, slack=slack, patient=patient)
