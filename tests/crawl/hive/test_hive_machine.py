"""Drones send, receive, save and die in any order: exact items arrive once and in order, all others
at least once.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.places import IN_MEMORY
from webcrawl.crawl.hive.batch import EXACT_KINDS, Inbox, Kind, place_number, unpack_batch
from webcrawl.crawl.hive.outbox import MAX_ITEMS, Outbox
from webcrawl.store.crawldb import CrawlDB

HIVE = b"the key of a hive"
DRONES = 2
KINDS = Kind.LINKS, Kind.QUEUED, Kind.SLOT, Kind.QUEUED, Kind.VOTES, Kind.SLOT
MOST = 9  # the choices of a step


class Server:
    """Streams, and how far each is acknowledged. One that was emptied is another one."""

    def __init__(self, epoch):
        self.epoch, self.last = epoch, 0
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
        self.under_way = []  # batches that the server has got
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

    def checkpoint(self, server, *, ahead=True):
        for _ in self.db.prepare() if ahead else ():
            pass
        self.db.checkpoint()
        self.outbox.committed()
        self.inbox.committed()
        if self.inbox.epoch == str(server.epoch):
            place = server.acknowledged[self.number] = self.inbox.committed_place
            stream = server.streams[self.number]
            stream[:] = [entry for entry in stream if place_number(entry[0]) > place_number(place)]

    def crash(self):
        self.db.close()
        self.open()


class Hive:
    """Two drones, which write to each other and to themselves, and a server.

    Each step gets a number to choose by.
    """

    def __init__(self, folder, memory):
        self.server = Server(1)
        self.drones = [Drone(folder / str(number), number, memory) for number in range(DRONES)]
        self.made = 0
        self.contents = {}  # of each exact message that was ever sent

    def item(self, kind):
        self.made += 1
        if kind in (Kind.LINKS, Kind.QUEUED):
            return b"http://a.test/%d L   0   " % self.made
        return f"{kind.name} {self.made}"

    # -- what drones do

    def put(self, drone, choice):
        kind = KINDS[choice % len(KINDS)]
        many = MAX_ITEMS + 1 if choice == MOST else 1 + choice % 3
        drone.put(choice // 5 % DRONES, kind, [self.item(kind) for _ in range(many)])

    def close(self, drone, _):
        drone.outbox.close_old(2.0)

    def begin_to_send(self, drone, choice):
        """The server gets batches, and the sender is not told yet."""
        if drone.under_way:
            return
        drone.know(self.server)
        for to in range(DRONES):
            for batch in drone.outbox.due_batches(to, 1 + choice):
                drone.under_way.append((to, batch, self.server.add(to, batch.data)))
                self.compare(to, batch.data)

    def compare(self, to, data):
        message = unpack_batch(data, HIVE)
        if message.kind in EXACT_KINDS:
            key = message.sender, to, message.channel, message.number
            assert self.contents.setdefault(key, message.items) == message.items

    def end_sending(self, drone, choice):
        """The sender is told; sometimes the last answer was lost."""
        if choice == MOST:
            drone.under_way[-1:] = []
        for to, batch, place in drone.under_way:
            drone.outbox.note_sent(to, batch, place)
        drone.under_way.clear()

    def receive(self, drone, choice):
        drone.know(self.server)
        later = [
            entry
            for entry in self.server.streams[drone.number]
            if place_number(entry[0]) > place_number(drone.inbox.place)
        ]
        for place, data in later[: 1 + choice]:
            drone.inbox.receive(place, data)

    def checkpoint(self, drone, choice):
        drone.checkpoint(self.server, ahead=choice > 0)

    def hear(self, drone, _):
        drone.know(self.server)
        for other, place in self.server.acknowledged.items():
            drone.outbox.acknowledge(other, place)

    # -- what happens to them

    def crash(self, drone, choice):
        """In most cases before a COMMIT, sometimes right after it."""
        if choice < 2:
            drone.db.checkpoint()
        drone.crash()

    def lose_the_server(self, _drone, _choice):
        self.server = Server(self.server.epoch + 1)

    # -- the end

    def check(self):
        for drone in self.drones:
            outbox = drone.outbox
            assert (
                outbox.stats()["memory"]
                == sum(queue.unwritten_bytes for queue in outbox._send_queues.values())
                <= drone.memory
            )

    def settle(self):
        for _ in range(9):
            for drone in self.drones:
                self.end_sending(drone, 0)
                self.begin_to_send(drone, 10_000)
                self.end_sending(drone, 0)
            for drone in self.drones:
                self.receive(drone, 10_000)
                self.checkpoint(drone, 0)
            for drone in self.drones:
                self.hear(drone, 0)
            if not any(drone.outbox.unacknowledged for drone in self.drones):
                return
        raise AssertionError("batches are never acknowledged")

    def judge(self):
        for to, receiver in enumerate(self.drones):
            handled = receiver.noted("handled")
            for one, sender in enumerate(self.drones):
                sent = [
                    item
                    for drone, kind, item in sender.noted("put")
                    if drone == to and kind in EXACT_KINDS
                ]
                assert [
                    item for drone, kind, item in handled if drone == one and kind in EXACT_KINDS
                ] == sent
                ordinary = {
                    item
                    for drone, kind, item in sender.noted("put")
                    if drone == to and kind not in EXACT_KINDS
                }
                assert ordinary <= {
                    item
                    for drone, kind, item in handled
                    if drone == one and kind not in EXACT_KINDS
                }
        for drone in self.drones:
            assert drone.db.query("SELECT name FROM meta WHERE name GLOB 'hive/out/*'") == []


STEPS = [
    *6 * [Hive.put],
    *4 * [Hive.begin_to_send, Hive.end_sending, Hive.receive],
    *3 * [Hive.checkpoint, Hive.close],
    *2 * [Hive.hear, Hive.crash],
    Hive.lose_the_server,
]
steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, DRONES - 1), st.integers(0, MOST)),
    min_size=100,
    max_size=200,
)


@given(steps, st.sampled_from([0, 300, 1 << 20]))
@examples(50)
def test_whatever_happens(steps, memory):
    """Each exact item is handled once, in its order; each other one at least once; in the end
    nothing is left.
    """
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        hive = Hive(Path(folder), memory)
        try:
            for step, drone, choice in steps:
                step(hive, hive.drones[drone], choice)
                hive.check()
            hive.settle()
            hive.judge()
        finally:
            for drone in hive.drones:
                drone.db.close()
