"""Hives as users start them: N times `scrapy crawl web`, each with its JOBDIR; what the web's log
says of them.
"""

import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from tests.support.crawling import PATIENCE, POLITE, Crawl
from tests.support.snapshots import hive_snapshot
from tests.support.warc_reader import read
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.partition import SlotMap, partition_of
from webcrawl.lab.simweb import (
    by_host,
    gaps,
    mercator,
    overlaps,
    robots_first,
    truth,
    wait_until_idle,
)
from webcrawl.lab.simweb.truth import registered_domain
from webcrawl.tools.verify_hive import verify_hive

NAME = "test"
AGENT = re.compile(r"webcrawl/1 \(drone (\d+), life (\d+)\)")


@dataclass
class Hive:
    """The drones of one hive. Each tells the web its number, and in which of its lives it is."""

    folder: Path
    web: object  # a synthetic web's server, or None
    url: str  # of the stream server
    drones: int = 3
    settings: dict = field(default_factory=dict)
    arguments: dict = field(default_factory=dict)
    kind: type = Crawl
    seeds: list = field(default_factory=list)  # by default the whole web's

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.seeds = self.seeds or list(self.web.world.seeds())
        (self.folder / "seeds.txt").write_text("\n".join(self.seeds))
        self.lives = Counter()
        self.running = {}
        self.crawls = list(map(self._crawl, range(self.drones)))
        self.members, self.leaving, self.left = set(range(self.drones)), set(), False
        self.stopped = False  # whether a process of it stood still for a while

    def _crawl(self, drone):
        settings = {
            "HIVE_DRONES": max(self.drones, drone + 1), "HIVE_DRONE": drone, "HIVE_NAME": NAME, "HIVE_LEASE": 2,
            "REDIS_URL": self.url, "CHECKPOINT_INTERVAL": 0.3,
        }  # fmt: skip
        if self.web is not None:
            settings["DNS_NAMESERVERS"] = self.web.nameserver
        arguments = {"seeds": self.folder / "seeds.txt", **self.arguments}
        return self.kind(self.folder / f"drone-{drone}", arguments, {**settings, **self.settings})

    def start(self, drone, **settings):
        """Start a drone, which begins another life."""
        self.lives[drone] += 1
        agent = f"webcrawl/1 (drone {drone}, life {self.lives[drone]})"
        crawl = self.crawls[drone]
        crawl.output = self.folder / f"drone-{drone}-{self.lives[drone]}.out"
        self.running[drone] = crawl.start(USER_AGENT=agent, **settings)
        return self.running[drone]

    def start_all(self, **settings):
        for drone in sorted(self.taking_part):
            self.start(drone, **settings)
        return self

    @property
    def taking_part(self):
        """Return the members, and the drones that give away what they have."""
        return self.members | self.leaving

    def add(self):
        """Add a drone, which is not started yet, and return its number."""
        drone = len(self.crawls)
        self.crawls.append(self._crawl(drone))
        self.members.add(drone)
        return drone

    def kill(self, drone):
        """Kill a drone by SIGKILL, and return whether it was alive."""
        process = self.running[drone].process
        process.kill()
        process.join()
        return process.exitcode == -9

    def wait(self, seconds=PATIENCE):
        """Return the exit statuses in the end, by drone.

        A drone that has not ended in time is killed, and TimeoutError raised.
        """
        end = time.monotonic() + seconds
        try:
            for running in self.running.values():
                running.process.join(max(0.0, end - time.monotonic()))
            stuck = [drone for drone, running in self.running.items() if running.process.is_alive()]
            if stuck:
                said = "\n".join(
                    f"-- drone {drone}\n{self.said(drone)[-3000:]}"
                    for drone in sorted(self.running)
                )
                raise TimeoutError(f"drones {stuck} did not end in {seconds} s; all said:\n{said}")
            return [self.running[drone].process.exitcode for drone in sorted(self.running)]
        finally:
            self.end()

    def end(self):
        for running in self.running.values():
            running.kill()

    @property
    def jobdirs(self):
        return [crawl.jobdir for crawl in self.crawls]

    @property
    def reasons(self):
        return [crawl.stats["reason"] for crawl in self.crawls]

    def said(self, drone):
        """Return what a drone has printed in all its lives."""
        lives = (
            self.folder / f"drone-{drone}-{life}.out" for life in range(1, self.lives[drone] + 1)
        )
        # a process makes it when it has begun
        return "".join(life.read_text() for life in lives if life.exists())

    def hits(self):
        wait_until_idle(self.web)
        return list(self.web.log.hits)

    def truth(self):
        return truth(self.web.world, self.seeds, self.arguments.get("scope", "any"))


def owners(drones=3, way="domain"):
    """Return a function that returns the drone to which a host belongs."""
    partition = partition_of(str(way), registered_domain)
    slots = SlotMap.fair(range(drones), partition.groups)
    return lambda host: slots.owners[partition.slot(host)]


def name_of(drone, drones=3):
    """Return a domain that belongs to this drone."""
    owner = owners(drones)
    return next(
        name for name in (f"d{number}.test" for number in range(1000)) if owner(name) == drone
    )


# -- what the web's log says


def asker(hit):
    """Return the number and the life of the drone that made this request."""
    drone, life = AGENT.fullmatch(hit.agent).groups()
    return int(drone), int(life)


def drone_of(hit):
    return asker(hit)[0]


def shared(hits):
    """Return the hosts that several drones have requested from, with the drones."""
    drones = defaultdict(set)
    for hit in hits:
        drones[hit.host].add(drone_of(hit))
    return {host: found for host, found in drones.items() if len(found) > 1}


def rudeness(world, hits, *, killed=(), slack=0.001, polite=POLITE):
    """Yield impoliteness within each life of a drone and between drones, and requests before
    robots.txt.

    Between two lives of one drone nothing is compared: what a killed drone requested last may be in
    no checkpoint. `killed` has the numbers and lives of such drones.
    """
    wanted = mercator(world, **polite)
    lives = defaultdict(list)
    for hit in hits:
        lives[asker(hit)].append(hit)
    for run in lives.values():
        yield from overlaps(run)
        yield from gaps(run, wanted, slack=slack)
    yield from _between(hits, wanted, slack, killed)
    yield from robots_first(hits)


def _between(hits, wanted, slack, killed):
    """Yield requests of two drones to one host that came too close together."""
    hosts = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.started):
        hosts[by_host(hit)].append(hit)
    for run in hosts.values():
        for first, second in pairwise(run):
            if drone_of(first) == drone_of(second) or asker(first) in killed:
                continue
            if second.started < first.ended + wanted(first) - slack:
                yield first, second


def repeated(hits, expected, killed=()):
    """Yield URLs requested again although nothing asked for that, as both hits.

    `killed` has the numbers and lives of drones that lost what they had done since their last
    checkpoint.
    """
    requested = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.started):
        requested[hit.url].append(hit)
    for url in expected.must - expected.retried:
        for first, second in pairwise(requested[url]):
            if asker(first) not in killed:
                yield first, second


# -- what the drones keep


def assert_whole(hive, hits, *, killed=(), slack=0.001, patient=False):
    """Assert that the hive did what one polite crawl would have done, and kept it all.

    Each URL must be on one drone. If `patient`, pages that fail however often they are requested
    may still be queued in the end, and what waits behind them. Return the pages that fail.
    """
    expected = hive.truth()
    way = str(hive.settings.get("HIVE_PARTITION", "domain"))
    whole = hive_snapshot(
        hive.jobdirs,
        moved=len(hive.crawls) > hive.drones or hive.left,
        stopped=hive.stopped,
        HIVE_PARTITION=way,
    )
    failing = _deferred(expected, whole.queued) if patient else set()
    for found in (
        expected.complaints({hit.url: hit for hit in hits}.values()),
        expected.complaints(hits) if not killed else (),
        rudeness(hive.web.world, hits, killed=killed, slack=slack),
        repeated(hits, expected, killed),
    ):
        first = [*islice(found, 10)]
        assert first == [], first
    damage = [*verify_hive(hive.folder, Counter())]
    assert damage == [], damage
    kept = whole.logged.keys() | failing
    assert expected.must <= kept, expected.must - kept
    captures = Counter(url for jobdir in hive.jobdirs for url in captured(jobdir))
    once = expected.must - expected.retried
    assert [url for url in once & whole.answered.keys() if captures[url] != 1] == []
    return failing


def _deferred(expected, queued):
    """Return the failing pages that are queued.

    What else of their hosts is queued may have been requested, or not: it moves from `must` to
    `may`.
    """
    failing = expected.must & expected.busy & queued.keys()
    hosts = {*map(host_of, failing)}
    waiting = {url for url in expected.must & queued.keys() - failing if host_of(url) in hosts}
    expected.must -= waiting
    expected.may |= waiting
    return failing


def captured(jobdir):
    """Yield the URL of each answer in the archive."""
    for path in sorted((jobdir / "warc").glob("*.warc.gz*")):
        yield from (
            one.fields["WARC-Target-URI"]
            for one in read(path)
            if one.kind in ("response", "revisit")
        )
