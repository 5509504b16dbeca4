"""Drones without a fetcher or a server: real frontiers, seen stores and slots in motion, batches by
hand.
"""

from __future__ import annotations

import pickle
import time
from array import array
from collections import Counter, defaultdict
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.frontiers import make
from tests.support.saving import prepared
from tests.support.seens import ROOMY, disk
from webcrawl.base.model import Link, Outcome, unpack
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.batch import EXACT_KINDS, Kind
from webcrawl.crawl.hive.partition import SlotFingerprints, SlotMap
from webcrawl.crawl.hive.slot_moves import SlotMoves
from webcrawl.crawl.hive.slot_pieces import SlotRules
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.check_state import check_frontier
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.snapshot import Snapshot

LIMITS = Limits(queues=2, max_queues=3, host_failures=3, retry_wait=5)


def domain_of(host: str) -> str:
    """Return the registered domain of names such as a.d1.test."""
    return ".".join(host.split(".")[-2:])


def slot_of(host: str) -> int:
    """Return the slot of a host: the number in its domain's name."""
    return int(domain_of(host)[1:].partition(".")[0])


def slot_map(generation: int, drones: int, owners: list[int]) -> SlotMap:
    """Return a map of a few slots with these owners."""
    return SlotMap(generation, tuple(range(drones)), array("H", owners))


@dataclass
class Allowance:
    """Allows so many pages for each domain."""

    pages: float = float("inf")
    lead: float = 1e9

    def most(self, links: int, *, seed: bool) -> float:
        return self.pages

    sure = most


@dataclass
class Batch:
    """A batch in the stream of a drone."""

    sender: int
    kind: Kind
    number: int
    generation: int
    items: list


class Box:
    """Outbox and inbox as one part of the checkpoint.

    It saves the numbers of exact batches, and the position in the stream.
    """

    def __init__(self, db, me, streams):
        self.db, self.me, self.streams = db, me, streams
        self.numbers = Counter()
        self.batches = []  # (receiver, batch), for ever: sent again after each restart
        self.known = Counter()
        self.place = 0
        self.generation = 0
        self.sent = 0
        self.ready = 0  # batches that a checkpoint has
        saved = db.get("test.box")
        if saved:
            self.numbers, self.batches, self.known, self.place = pickle.loads(saved)  # noqa: S301 - our own
            self.ready = len(self.batches)
        db.join(self)

    def put(self, drone, kind, items):
        """Put a batch for a drone into the outbox."""
        assert drone != self.me
        number = 0
        if kind in EXACT_KINDS:
            self.numbers[drone] += 1
            number = self.numbers[drone]
        self.batches.append(
            (
                drone,
                Batch(self.me, kind, number, self.generation, pickle.loads(pickle.dumps(items))),  # noqa: S301
            )
        )

    def send(self):
        """Send what may be sent, in order: exact batches only after a checkpoint."""
        while self.sent < len(self.batches):
            drone, batch = self.batches[self.sent]
            if batch.number and self.sent >= self.ready:
                return
            self.streams[drone].append(batch)
            self.sent += 1

    def receive(self):
        """Return the next batch that is not known yet, or None."""
        stream = self.streams[self.me]
        while self.place < len(stream):
            batch = stream[self.place]
            self.place += 1
            if not batch.number or batch.number > self.known[batch.sender]:
                if batch.number:
                    assert batch.number == self.known[batch.sender] + 1
                    self.known[batch.sender] = batch.number
                return batch
        return None

    def prepare(self):
        return iter(())

    def save(self):
        self.db.set("test.box", pickle.dumps((self.numbers, self.batches, self.known, self.place)))
        self.closed = len(self.batches)


@dataclass
class World:
    """What all drones share: time, streams, maps, and what hosts and pages have seen of them."""

    folder: Path
    drones: int
    pages: dict[str, list[str]] = field(default_factory=dict)  # what each page links to
    maps: list[SlotMap] = field(default_factory=list)
    streams: defaultdict[int, list] = field(default_factory=lambda: defaultdict(list))
    now: float = 1000.0
    fetched: Counter = field(default_factory=Counter)
    lost: Counter = field(default_factory=Counter)  # fetched, and forgotten by a crash
    polite_at: dict[str, float] = field(default_factory=dict)
    told_at: dict[str, float] = field(default_factory=dict)
    flying: dict[str, int] = field(default_factory=dict)  # host -> drone
    complaints: list[str] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)


class Drone:
    """One crawl of the hive; `crash` opens it again as its last checkpoint left it."""

    again = False  # whether pages are fetched again

    def __init__(self, world, number, *, domains=True, first=0, factory=disk):
        self.world, self.number, self.first = world, number, first
        self.domains, self.factory = domains, factory
        self.folder = world.folder / f"drone-{number}"
        self.open()
        self.checkpoint()

    def open(self):
        """Open all parts as of the last checkpoint."""
        world = self.world
        self.db = CrawlDB(self.folder)
        self.seen = (
            self.factory(self.db, sizes=ROOMY) if self.factory is disk else self.factory(self.db)
        )
        options = {"allowance": world.allowance, "now": world.now, "revisits": self.again}
        self.frontier = make(self.db, LIMITS, memory=4096, domain=domain_of, **options)
        self.box = Box(self.db, self.number, world.streams)
        self.prints = SlotFingerprints(bytes(16), slot_of)
        self.slot_moves = SlotMoves(
            self.db,
            self.number,
            self.frontier,
            self.seen,
            SlotRules(slot_of, moves_domains=self.domains),
            self.box,
            self.accept,
            world.complaints.append,
        )
        self.links = {}  # in flight
        self.done_since = []
        if self.slot_moves.map is None:
            self.slot_moves.apply_map(world.maps[self.first])
        self.box.generation = self.slot_moves.map.generation

    def close(self):
        self.seen.close()
        self.db.close()

    # -- links

    def accept(self, kind, items):
        for item in items:
            assert self.slot_moves.owned[self.slot_moves.slot(kind, item)], (
                "accepted, though its slot is not here"
            )
        if kind is Kind.QUEUED:
            self.frontier.add(items)
        else:
            self.submit(items)

    def submit(self, records):
        urls = [unpack(record).url for record in records]
        self.seen.submit(self.prints(urls, urls), records)

    def found(self, urls, page=""):
        """Submit links whose slots are here, and send all others to their drones, as the splitter
        does.
        """
        for url in urls:
            record, slot = Link(url, "L" if page else "", page).pack(), slot_of(host_of(url))
            if self.slot_moves.owned[slot]:
                self.submit([record])
            else:
                self.slot_moves.send(Kind.LINKS, slot, [record])

    def feed(self, *, merge=True):
        records = self.seen.pop_new(5)
        if not records and merge:
            self.seen.merge()
            while self.seen.busy:
                time.sleep(0.0005)
            records = self.seen.pop_new(5)
        self.frontier.add(filter(None, records))

    # -- requests

    def take(self):
        """Take a link from the frontier. Assert that its host may be requested from now, and from
        here.
        """
        world = self.world
        link = self.frontier.take(world.now)
        if link is None:
            return
        host = host_of(link.url)
        assert self.slot_moves.owned[slot_of(host)], "asked, though its slot is not here"
        assert host not in world.flying, "two drones ask one host"
        assert world.now >= world.polite_at.get(host, 0.0), "asked too early"
        assert world.now >= world.told_at.get(host, 0.0), "asked before the time that it named"
        world.flying[host] = self.number
        self.links[host] = link

    def done(self, host, outcome):
        """End the request to a host with this outcome."""
        world, link = self.world, self.links.pop(host)
        del world.flying[host]
        world.polite_at[host] = world.now + max(10 * outcome.seconds, 1.0)
        if outcome.wait:
            world.told_at[host] = world.now + outcome.wait
        self.done_since.append((link.url, outcome.status))
        if outcome.status == 200:
            world.fetched[link.url] += 1
            self.found(world.pages.get(link.url, ()), link.url)
        self.frontier.done(link, outcome, world.now)

    # -- the hive

    def learn(self):
        """Learn the next map, if there is one."""
        later = [one for one in self.world.maps if one.generation > self.slot_moves.map.generation]
        if later:
            self.slot_moves.apply_map(later[0])
            self.box.generation = self.slot_moves.map.generation

    def reroute(self, gone):
        """Send what was for a drone that is lost to others, or take it back."""
        box = self.box
        lost = [batch for drone, batch in box.batches if drone == gone]
        box.batches = [(drone, batch) for drone, batch in box.batches if drone != gone]
        box.sent = box.ready = 0
        for batch in lost:
            for item in batch.items:
                drone = self.slot_moves.route(batch.kind, item)
                if drone == self.number:
                    self.slot_moves.receive(batch.kind, [item], self.world.now)
                else:
                    box.put(drone, batch.kind, [item])

    def read(self):
        batch = self.box.receive()
        if batch is None:
            return False
        while self.slot_moves.map.generation < batch.generation:
            self.learn()
        self.slot_moves.receive(batch.kind, batch.items, self.world.now)
        return True

    def step(self, most=1):
        for _ in range(most):
            self.slot_moves.step(self.world.now)
            while self.seen.busy:
                time.sleep(0.0005)

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        self.box.ready = self.box.closed
        self.done_since = []

    def crash(self):
        """Forget what came after the last checkpoint, and open again."""
        world = self.world
        self.close()
        with closing(Snapshot(self.folder)) as snapshot:
            assert list(check_frontier(snapshot, Counter())) == []
        for url, status in self.done_since:
            host = host_of(url)
            world.lost[url] += status == 200
            world.polite_at[host] = min(world.polite_at[host], world.now + 1.0)
        for host in self.links:
            del world.flying[host]
            world.polite_at[host] = world.now + 1.0
        self.open()


@contextmanager
def hive(folder, owners, drones=2, **options):
    """A small hive with this founding map."""
    world = World(folder, drones, maps=[slot_map(1, drones, owners)])
    members = [Drone(world, number, **options) for number in range(drones)]
    try:
        yield world, members
    finally:
        for drone in members:
            drone.close()


def run(world, drones, rounds=3000):
    """Lets the hive work until nothing is left to do."""
    for _ in range(rounds):
        busy = False
        for drone in drones:
            drone.learn()
            drone.step(5)
            if not any(drone.slot_moves.owned):
                drone.slot_moves.drain(world.now)
            drone.feed()
            drone.take()
            for host in list(drone.links):
                drone.done(host, Outcome(200, 0.05))
            drone.box.send()
            while drone.read():
                busy = True
            if drone.box.sent < len(drone.box.batches):
                drone.checkpoint()
                busy = True
            busy = (
                busy or bool(drone.seen.pending) or len(drone.frontier) > drone.frontier.over_budget
            )
            busy = (
                busy
                or not drone.slot_moves.is_settled
                or drone.slot_moves.map.generation < world.maps[-1].generation
            )
        # not read yet
        busy = busy or any(drone.box.place < len(world.streams[drone.number]) for drone in drones)
        if not busy:
            return
        ready = [at for drone in drones if (at := drone.frontier.next_ready()) is not None]
        world.now = max(world.now, min(ready, default=0.0)) + 0.1
    raise AssertionError(f"the hive does not end: {drones}")
