"""A hive of 200 drones in one process: the real code of a hive, a simulated network and a simulated clock.

python -m benchmarks.hive_simulation

Real are the map of slots, the partition, splitters with their caches, letters, outboxes and inboxes in the drones' own
databases, reports and the queen. Simulated are the web (a tree with links across), the server, the network and time:
drones are killed and come back from their last checkpoints, connections are cut, and the server is restarted empty.
At the end every URL must be in the checkpoint of its owner, and the queen must have said so, not earlier.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import msgpack

from benchmarks.support.report import report, timed
from webcrawl.base.model import Link, unpack
from webcrawl.crawl.hive.drone_report import Report
from webcrawl.crawl.hive.inbox import Inbox
from webcrawl.crawl.hive.message import Kind, Message
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import Partition
from webcrawl.crawl.hive.queen import Queen
from webcrawl.crawl.hive.slot_map import SlotMap
from webcrawl.crawl.hive.splitter import Splitter
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.store.crawldb import CrawlDB

HIVE = bytes(16)
STEP = 0.5  # simulated seconds
LATENCY = 0.3  # seconds, at most, of anything that is sent
RATE = 4  # pages of a drone in a step
SAVE = 20.0  # seconds between checkpoints
LEASE = 5.0
LAST = 3600.0  # simulated seconds after which something is wrong


class Web:
    """`pages` URLs over hosts of Zipf's sizes; each links to some of the next ones and to two anywhere."""

    def __init__(self, pages: int, hosts: int, chance: Random) -> None:
        sizes = [1 / rank for rank in range(1, hosts + 1)]
        homes = chance.choices(range(hosts), sizes, k=pages)
        self.urls = [f"http://h{home}.test/{number}" for number, home in enumerate(homes)]
        self.links: list[list[int]] = [[] for _ in self.urls]
        for number in range(1, pages):
            self.links[chance.randrange(max(0, number - 5000), number)].append(number)
        for links in self.links:
            links.extend((chance.randrange(pages), chance.randrange(pages)))
        self.numbers = dict(zip(self.urls, range(pages), strict=True))


class Server:
    """Streams and the board, which a restart empties."""

    def __init__(self) -> None:
        self.epochs = self.letters = self.beats = 0
        self.bytes = 0
        self.restart()

    def restart(self) -> None:
        self.epochs += 1
        self.epoch = f"epoch{self.epochs}"
        self.streams: dict[int, list[bytes]] = {}
        self.acks: dict[int, str] = {}
        self.reports: dict[int, bytes] = {}
        self.seen_at: dict[int, float] = {}


class Home:
    """The crawl of a drone: what it knows, and what it has to fetch. Part of its checkpoint."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        data = db.get("crawl")
        self.known: set[int] = set()
        self.queue: list[int] = []
        if data is not None:
            known, self.queue = msgpack.unpackb(data)
            self.known = set(known)
        self.numbers: dict[str, int] = {}
        db.join(self)

    def links(self, records: Sequence[bytes]) -> None:
        for record in records:
            number = self.numbers[unpack(record).url]
            if number not in self.known:
                self.known.add(number)
                self.queue.append(number)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._db.set("crawl", msgpack.packb([list(self.known), self.queue]))


class Owners:
    """Of a map that stays as it is."""

    def __init__(self, me: int, slots: SlotMap, outbox: Outbox) -> None:
        self._slots, self._outbox = slots, outbox
        self.owned = bytearray(owner == me for owner in slots.owners)

    def owner(self, slot: int) -> int:
        return self._slots.owners[slot]

    def had(self, slot: int) -> bool:
        return bool(self.owned[slot])

    def send(self, kind: Kind, slot: int, items: list[Any]) -> None:
        self._outbox.put(self.owner(slot), kind, items)


class Process:
    """One run of a drone, from its last checkpoint on."""

    def __init__(self, me: int, run: int, folder: Path, web: Web, slots: SlotMap, now: float) -> None:
        self.me, self.run, self._web, self._now = me, run, web, now
        self.db = CrawlDB(folder)
        self.home = Home(self.db)
        self.home.numbers = web.numbers
        self.outbox = Outbox(self.db, me, HIVE, clock=lambda: self._now, chance=Random(me))
        owners = Owners(me, slots, self.outbox)
        self.splitter = Splitter(Partition("host", str).slot, owners, lambda: ClockCache(1024))
        self.inbox = Inbox(self.db, HIVE, self.handle)
        self.outbox.generation = slots.generation
        self.beat = self.activity = 0
        self.saved = -1
        self.saved_at = now - Random(me).random() * SAVE
        self.beating = False
        self.fetched = 0

    def handle(self, message: Message) -> None:
        self.home.links(message.items)

    def crawl(self) -> None:
        for _ in range(min(RATE, len(self.home.queue))):
            number = self.home.queue.pop()
            self.fetched += 1
            self.activity += 1
            links = self._web.links[number]
            urls = [self._web.urls[one] for one in links]
            _, mine = self.splitter.keep_ours(links, urls, [Link(url).pack() for url in urls])
            self.home.links(mine)

    def step(self, now: float) -> None:
        self._now = now
        self.crawl()
        self.outbox.close(now)
        changed = self.count() != self.saved
        early = changed and not self.home.queue and now - self.saved_at > 2
        if now - self.saved_at >= SAVE or early:
            self.checkpoint(now)

    def count(self) -> int:
        return self.activity + self.outbox.stats()["letters"]

    def checkpoint(self, now: float) -> None:
        self.db.checkpoint()  # without `prepare`, which waits for the disk in slices
        self.outbox.committed()
        self.inbox.committed()
        self.saved, self.saved_at = self.count(), now

    def report(self) -> bytes:
        return Report(
            drone=self.me,
            identity=str(self.me),
            run=self.run,
            beat=self.beat,
            generation=1,
            idle=not self.home.queue,
            saved=self.count() == self.saved and self.inbox.place == self.inbox.committed_place,
            activity=self.count(),
            unacknowledged=self.outbox.unacknowledged,
            figures={"pages": self.fetched, "queued": len(self.home.queue), "seen/keys": len(self.home.known)},
        ).pack()


class Simulation:
    def __init__(self, args: argparse.Namespace, folder: Path, opened: ExitStack) -> None:
        self.chance = Random(args.seed)
        self.web = Web(args.pages, args.hosts, self.chance)
        self.slots = SlotMap.fair(range(args.drones))
        self.folder, self.server = folder, Server()
        self.now = 0.0
        self.processes = [Process(me, 1, folder / str(me), self.web, self.slots, 0.0) for me in range(args.drones)]
        opened.callback(lambda: [process.db.close() for process in self.processes])
        self.cut = dict.fromkeys(range(args.drones), 0.0)  # until when its connection is
        self.down = dict.fromkeys(range(args.drones), 0.0)
        self.events: list[tuple[float, int, Process, bytes]] = []  # heartbeats on their way
        self.queen, self.queens = Queen(), 0
        self.queen_is = -1
        self.over = False
        self.fetched = self.kills = self.again = 0
        first = self.processes[self.owner(0)].home
        first.links([Link(self.web.urls[0]).pack()])
        self.work: Counter[int] = Counter()

    def owner(self, number: int) -> int:
        return self.slots.owners[self.processes[0].splitter.slot(self.web.urls[number])]

    def kill(self, me: int) -> None:
        self.kills += 1
        process = self.processes[me]
        self.work[me] += process.fetched
        process.db.close()
        self.down[me] = self.now + self.chance.uniform(1, 20)
        self.processes[me] = Process(me, process.run + 1, self.folder / str(me), self.web, self.slots, self.now)

    def trouble(self, args: argparse.Namespace) -> None:
        drones = len(self.processes)
        if self.now < args.trouble:
            if self.chance.random() < args.kills * STEP / args.trouble:
                self.kill(self.chance.randrange(drones))
            if self.chance.random() < args.cuts * STEP / args.trouble:
                self.cut[self.chance.randrange(drones)] = self.now + self.chance.uniform(1, 30)
            if self.chance.random() < args.restarts * STEP / args.trouble:
                self.server.restart()

    def step(self, args: argparse.Namespace) -> None:
        self.now += STEP
        self.trouble(args)
        for process in self.processes:
            if self.down[process.me] <= self.now:
                process.step(self.now)
                if self.cut[process.me] <= self.now:
                    self.exchange(process)
        self.deliver()

    def exchange(self, process: Process) -> None:
        server, outbox, inbox = self.server, process.outbox, process.inbox
        if outbox.epoch != server.epoch or inbox.epoch != server.epoch:
            outbox.new_epoch(server.epoch)
            inbox.new_epoch(server.epoch)
        for drone in list(outbox.drones()):
            for letter in outbox.due(drone, 64):
                if self.chance.random() < LATENCY / STEP:  # it is later than the next step
                    break
                stream = server.streams.setdefault(drone, [])
                stream.append(letter.data)
                server.letters += 1
                server.bytes += len(letter.data)
                outbox.sent(drone, letter, f"{len(stream)}-0")
        stream = server.streams.get(process.me, [])
        read = int(inbox.place.partition("-")[0])
        for at in range(read, min(len(stream), read + 64)):
            inbox.received(f"{at + 1}-0", stream[at])
            process.activity += 1
        if inbox.committed_place != "0-0":
            server.acks[process.me] = inbox.committed_place
        if not process.beating:
            process.beating = True
            self.events.append((self.now + self.chance.uniform(0, 2 * STEP), process.run, process, process.report()))

    def deliver(self) -> None:
        due = [event for event in self.events if event[0] <= self.now]
        self.events = [event for event in self.events if event[0] > self.now]
        for _, run, process, packed in due:
            server = self.server
            server.reports[process.me], server.seen_at[process.me] = packed, self.now
            server.beats += 1
            if self.processes[process.me] is not process or run != process.run:
                continue
            process.beating = False
            process.beat += 1
            for drone, place in server.acks.items():
                if process.outbox.epoch == server.epoch:
                    process.outbox.acknowledged(drone, place)
            self.look(process.me)

    def look(self, me: int) -> None:
        alive = {drone for drone, at in self.server.seen_at.items() if self.now - at < LEASE}
        if self.queen_is not in alive:
            self.queen_is, self.queen = me, Queen()
            self.queens += 1
        if me == self.queen_is:
            reports = {drone: Report.unpack(data) for drone, data in self.server.reports.items()}
            self.over = self.over or self.queen.look(self.now, reports, alive, self.slots).over


def simulate(args: argparse.Namespace, folder: Path) -> bool:
    with ExitStack() as opened, timed() as clock:
        simulation = Simulation(args, folder, opened)
        while not simulation.over and simulation.now < LAST:
            simulation.step(args)
        processes, server, web = simulation.processes, simulation.server, simulation.web
        for process in processes:  # what a kill would leave
            process.db.close()
            simulation.work[process.me] += process.fetched
        wrong = 0
        crawled: set[int] = set()
        for process in processes:
            db = CrawlDB(folder / str(process.me))
            home = Home(db)
            db.close()
            wrong += len(home.queue) + sum(simulation.owner(number) != process.me for number in home.known)
            crawled |= home.known
        owners = Counter(simulation.slots.owners)
        hosts = Counter(
            simulation.slots.owners[Partition("host", str).slot(f"h{host}.test")] for host in range(args.hosts)
        )
        mean = args.hosts / args.drones
    lost = len(web.urls) - len(crawled)
    report(
        "hive simulation",
        drones=args.drones,
        over=simulation.over,
        lost=lost,
        unfinished_or_misplaced=wrong,
        simulated_seconds=simulation.now,
        kills=simulation.kills,
        epochs=server.epochs,
        queens=simulation.queens,
        fetched=sum(simulation.work.values()),
        fetched_again=sum(simulation.work.values()) - len(crawled),
        letters=server.letters,
        links_sent=sum(process.splitter.sent for process in processes),
        letters_per_second=server.letters / simulation.now,
        beats_per_second_at_the_queen=server.beats / simulation.now,
        most_slots_times_mean=max(owners.values()) * args.drones / len(simulation.slots.owners),
        most_hosts_times_mean=max(hosts.values()) / mean,
        cpu_seconds=clock.cpu,
    )
    return simulation.over and not lost and not wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hive_simulation", description=__doc__)
    parser.add_argument("--drones", type=int, default=200)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--trouble", type=float, default=60.0, help="simulated seconds in which things go wrong")
    parser.add_argument("--kills", type=float, default=40)
    parser.add_argument("--cuts", type=float, default=40)
    parser.add_argument("--restarts", type=float, default=2, help="of the server, which is empty then")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    memory = Path("/dev/shm")  # noqa: S108 - nothing here need outlive the process
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        sys.exit(not simulate(args, Path(folder)))


if __name__ == "__main__":
    main()
