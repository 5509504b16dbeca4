"""A hive of a few lists: drones with checkpoints, batches, acknowledgements and heartbeats, and a
server that may die.

What is to be crawled is a tree, so that it is known what must have been crawled when the coordinator says
that it is over.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

from webcrawl.crawl.hive.coordinator import Coordinator, Report
from webcrawl.crawl.hive.partition import SlotMap


@dataclass
class Kept:
    """What a checkpoint has."""

    queue: list[int] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    # number: to, URL, place
    batches: dict[int, tuple[int, int, tuple[int, int] | None]] = field(default_factory=dict)
    number: int = 0
    place: tuple[int, int] = (0, 0)  # epoch, batches read


@dataclass
class Drone:
    number: int
    now: Kept
    kept: Kept
    run: int = 1
    beat: int = 0
    activity: int = 0
    kept_activity: int = 0
    beating: bool = False  # a heartbeat is under way

    def report(self) -> Report:
        now = self.now
        return Report(
            drone=self.number,
            identity=f"state {self.number}",
            run=self.run,
            beat=self.beat,
            generation=1,
            idle=not now.queue,
            saved=self.activity == self.kept_activity,
            activity=self.activity,
            unacknowledged=len(now.batches),
        )


class SmallHive:
    def __init__(self, chance: Random, drones: int, urls: int) -> None:
        self.chance = chance
        self.slots = SlotMap.fair(range(drones))
        self.parents = {url: chance.randrange(url) for url in range(1, urls)}
        self.owner = [chance.randrange(drones) for _ in range(urls)]
        self.drones = [Drone(number, Kept(), Kept()) for number in range(drones)]
        first = self.drones[self.owner[0]]
        first.now.queue.append(0)
        first.now.known.add(0)
        first.kept = deepcopy(first.now)
        self.coordinators = [Coordinator() for _ in range(drones)]
        self.coordinator = 0
        self.begin_server(1)
        self.posts: list[Report] = []  # heartbeats on their way to the server
        self.over = False

    def begin_server(self, epoch: int) -> None:
        self.epoch = epoch
        self.streams: list[list[int]] = [[] for _ in self.drones]
        self.acks = [(epoch, 0)] * len(self.drones)
        self.reports: dict[int, Report] = {}
        self.alive: set[int] = set()

    # -- what may happen

    def crawl(self, drone: Drone) -> None:
        now = drone.now
        if now.queue:
            url = now.queue.pop()
            now.done.add(url)
            drone.activity += 1
            for child in [child for child, parent in self.parents.items() if parent == url]:
                if self.owner[child] == drone.number:
                    self.found(now, child)
                else:
                    now.number += 1
                    now.batches[now.number] = (self.owner[child], child, None)

    def found(self, now: Kept, url: int) -> None:
        if url not in now.known:
            now.known.add(url)
            now.queue.append(url)

    def send(self, drone: Drone) -> None:
        for number, (to, url, place) in drone.now.batches.items():
            if place is None or place[0] != self.epoch:
                self.streams[to].append(url)
                drone.now.batches[number] = (to, url, (self.epoch, len(self.streams[to])))
                drone.activity += 1
                return

    def read(self, drone: Drone) -> None:
        epoch, read = drone.now.place
        if epoch != self.epoch:
            read = 0
        if read < len(self.streams[drone.number]):
            self.found(drone.now, self.streams[drone.number][read])
            drone.now.place = (self.epoch, read + 1)
            drone.activity += 1

    def checkpoint(self, drone: Drone) -> None:
        drone.kept, drone.kept_activity = deepcopy(drone.now), drone.activity

    def acknowledge(self, drone: Drone) -> None:
        if drone.kept.place[0] == self.epoch:
            self.acks[drone.number] = max(self.acks[drone.number], drone.kept.place)

    def beat(self, drone: Drone) -> None:
        if not drone.beating:
            drone.beating = True
            self.posts.append(drone.report())

    def deliver(self) -> None:
        """One of the heartbeats arrives; the coordinator's is answered with all reports."""
        if not self.posts:
            return
        report = self.posts.pop(self.chance.randrange(len(self.posts)))
        self.reports[report.drone] = report
        self.alive.add(report.drone)
        drone = self.drones[report.drone]
        if report.run != drone.run:  # it was killed meanwhile
            return
        drone.beating, drone.beat = False, drone.beat + 1
        batches = drone.now.batches
        for number, (to, _, place) in [*batches.items()]:
            if place and place[0] == self.epoch and place <= self.acks[to]:
                del batches[number]
        if self.coordinator == report.drone:
            coordinator = self.coordinators[report.drone]
            self.over = coordinator.decide(
                0.0, dict(self.reports), set(self.alive), self.slots
            ).over

    def kill(self, drone: Drone) -> None:
        drone.now = deepcopy(drone.kept)
        drone.run, drone.beat, drone.activity, drone.kept_activity = drone.run + 1, 0, 0, 0
        drone.beating = False
        self.coordinators[drone.number] = Coordinator()

    def lapse(self, drone: Drone) -> None:
        self.alive.discard(drone.number)

    def enthrone(self, drone: Drone) -> None:
        self.coordinator = drone.number

    def restart_server(self) -> None:
        self.begin_server(self.epoch + 1)

    # -- schedules

    def step(self) -> None:
        """Anything, mostly what is harmless."""
        drone = self.chance.choice(self.drones)
        usual = [self.crawl, self.send, self.read, self.checkpoint, self.acknowledge]
        rare = [self.kill, self.lapse, self.enthrone]
        draw = self.chance.random()
        if draw < 0.45:
            self.chance.choice(usual)(drone)
        elif draw < 0.7:
            self.beat(drone)
        elif draw < 0.95:
            self.deliver()
        elif draw < 0.995:
            self.chance.choice(rare)(drone)
        else:
            self.restart_server()

    def calm_round(self) -> None:
        """Everything that is harmless once, at every drone."""
        for drone in self.drones:
            for act in (
                self.crawl,
                self.send,
                self.read,
                self.checkpoint,
                self.acknowledge,
                self.beat,
            ):
                act(drone)
        for _ in self.posts[:]:
            self.deliver()

    def left(self) -> set[int]:
        """What no checkpoint has as crawled."""
        return {*range(len(self.owner))}.difference(*(drone.kept.done for drone in self.drones))

    def unread(self) -> list[int]:
        """What a drone would send again, or do, if all were killed now."""
        return [drone.number for drone in self.drones if drone.kept.queue]
