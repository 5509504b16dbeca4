"""Drones send, receive, save and die in any order: exact items arrive once and in order, all others at least once."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import msgpack
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.examples import SHORT
from webcrawl.hive.inbox import Inbox
from webcrawl.hive.message import EXACT, Kind
from webcrawl.hive.outbox import Outbox
from webcrawl.hive.places import order
from webcrawl.hive.wire import unpack
from webcrawl.store.crawldb import CrawlDB

HIVE = b"the key of a hive"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - hundreds of checkpoints, no disk
KINDS = st.sampled_from([Kind.LINKS, Kind.VOTES, Kind.QUEUED, Kind.SLOT])


class Server:
    """Streams, and how far each is acknowledged. It can be emptied."""

    def __init__(self):
        self.epoch, self.last = 1, 0
        self.streams, self.acknowledged = defaultdict(list), {}

    def add(self, drone, data):
        self.last += 1
        place = f"{self.last // 3}-{self.last % 3 + 8}"  # sequence numbers of one and of two digits
        self.streams[drone].append((place, data))
        return place


class Drone:
    """A drone whose whole state is in crawl.db: what it put, and what it handled."""

    def __init__(self, folder, number, memory):
        self.folder, self.number, self.memory = folder, number, memory
        self.open()

    def open(self):
        self.db = CrawlDB(self.folder)
        self.outbox = Outbox(self.db, self.number, HIVE, memory=self.memory, clock=lambda: 0.0)
        self.inbox = Inbox(self.db, HIVE, self.handle)

        self.entries = len(self.db.named("test/"))

    def note(self, what, drone, kind, items):
        self.db.set(f"test/{what}/{self.entries:09}", msgpack.packb((drone, int(kind), items)))
        self.entries += 1

    def noted(self, what):
        """What is in the log: drone, kind and item of each."""
        entries = [msgpack.unpackb(value) for _, value in sorted(self.db.named(f"test/{what}/"))]
        return [(drone, kind, item) for drone, kind, items in entries for item in items]

    def handle(self, message):
        self.note("handled", message.sender, message.kind, message.items)

    def put(self, to, kind, items):
        self.outbox.put(to, kind, items)
        self.note("put", to, kind, items)

    def know(self, server):
        """What a drone does before it uses the server: it compares epochs."""
        self.outbox.new_epoch(str(server.epoch))
        self.inbox.new_epoch(str(server.epoch))

    def checkpoint(self, server):
        for _ in self.db.prepare():
            pass
        self.db.checkpoint()
        self.outbox.committed()
        self.inbox.committed()
        if self.inbox.epoch == str(server.epoch):
            place = server.acknowledged[self.number] = self.inbox.committed_place
            stream = server.streams[self.number]
            stream[:] = [entry for entry in stream if order(entry[0]) > order(place)]

    def crash(self):
        self.db.close()
        self.open()


class Hive(RuleBasedStateMachine):
    """Three drones and a server."""

    @initialize(memory=st.sampled_from([0, 300, 1 << 20]))
    def found(self, memory):
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.server = Server()
        self.drones = [Drone(self.folder / str(number), number, memory) for number in range(3)]
        self.made = 0
        self.contents = {}  # of each exact message that was ever sent

    def item(self, kind):
        self.made += 1
        if kind in (Kind.LINKS, Kind.QUEUED):
            return b"http://a.test/%d L   0   " % self.made
        return f"{kind.name} {self.made}"

    @rule(one=st.integers(0, 2), to=st.integers(0, 2), kind=KINDS, many=st.sampled_from([1, 2, 3, 300]))
    def put(self, one, to, kind, many):
        self.drones[one].put(to, kind, [self.item(kind) for _ in range(many)])

    @rule(one=st.integers(0, 2))
    def close(self, one):
        self.drones[one].outbox.close(2.0)

    @rule(one=st.integers(0, 2), to=st.integers(0, 2), most=st.integers(1, 5), told=st.integers(0, 5))
    def send(self, one, to, most, told):
        """The server gets letters; of the last ones the sender is not told."""
        drone = self.drones[one]
        drone.know(self.server)
        for letter in drone.outbox.due(to, most):
            place = self.server.add(to, letter.data)
            self.note(to, letter.data)
            if told:
                drone.outbox.sent(to, letter, place)
                told -= 1

    def note(self, to, data):
        message = unpack(data, HIVE)
        if message.kind in EXACT:
            key = message.sender, to, message.channel, message.number
            assert self.contents.setdefault(key, message.items) == message.items

    @rule(one=st.integers(0, 2), most=st.integers(1, 5))
    def receive(self, one, most):
        drone = self.drones[one]
        drone.know(self.server)
        later = [entry for entry in self.server.streams[one] if order(entry[0]) > order(drone.inbox.place)]
        for place, data in later[:most]:
            drone.inbox.received(place, data)

    @rule(one=st.integers(0, 2))
    def checkpoint(self, one):
        self.drones[one].checkpoint(self.server)

    @rule(one=st.integers(0, 2))
    def hear(self, one):
        drone = self.drones[one]
        drone.know(self.server)
        for other, place in self.server.acknowledged.items():
            drone.outbox.acknowledged(other, place)

    @rule(one=st.integers(0, 2))
    def crash(self, one):
        self.drones[one].crash()

    @rule()
    def lose_the_server(self):
        epoch = self.server.epoch
        self.server = Server()
        self.server.epoch = epoch + 1

    @invariant()
    def counts_agree(self):
        for drone in getattr(self, "drones", ()):
            outbox = drone.outbox
            assert outbox.stats()["memory"] == sum(lane.held for lane in outbox._lanes.values()) <= drone.memory
            assert sum(outbox.waiting(to) for to in range(3)) <= outbox.unacknowledged

    def teardown(self):
        if not hasattr(self, "drones"):
            return
        try:
            self.settle()
            self.judge()
        finally:
            for drone in self.drones:
                drone.db.close()
            shutil.rmtree(self.folder)

    def settle(self):
        for _ in range(100):
            for one in range(3):
                for to in range(3):
                    self.send(one, to, 1000, 1000)
            for one in range(3):
                self.receive(one, 10_000)
                self.checkpoint(one)
            for one in range(3):
                self.hear(one)
            if not any(drone.outbox.unacknowledged for drone in self.drones):
                return
        raise AssertionError("letters are never acknowledged")

    def judge(self):
        for to, receiver in enumerate(self.drones):
            handled = receiver.noted("handled")
            for one, sender in enumerate(self.drones):
                sent = [item for drone, kind, item in sender.noted("put") if drone == to and kind in EXACT]
                assert [item for drone, kind, item in handled if drone == one and kind in EXACT] == sent
                ordinary = {item for drone, kind, item in sender.noted("put") if drone == to and kind not in EXACT}
                assert ordinary <= {item for drone, kind, item in handled if drone == one and kind not in EXACT}
        for drone in self.drones:
            assert drone.db.query("SELECT name FROM meta WHERE name GLOB 'hive/out/*'") == []


TestHive = Hive.TestCase
TestHive.settings = settings(max_examples=SHORT, stateful_step_count=40)
