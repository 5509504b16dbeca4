"""Signals that wait go with their hosts when a hive is resized: none is lost or doubled, whoever is
killed.
"""

from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest

from tests.support.moving_hives import Drone, World, slot_map
from tests.support.revisits import Told
from webcrawl.base.model import Outcome
from webcrawl.crawl.hive.batch import Kind
from webcrawl.crawl.hive_parts import ItemDelivery
from webcrawl.crawl.revisit.budget import Split
from webcrawl.crawl.revisit.change_rate import Sample
from webcrawl.crawl.revisit.record import PageRecord, is_ahead
from webcrawl.crawl.revisit.revisits import Revisits
from webcrawl.crawl.revisit_counts import RevisitCounts
from webcrawl.crawl.revisiting import Revisiting

AGE = 86_400.0
LEAVE = [f"http://{host}d0.test/{page}" for host in ("", "a.") for page in range(3)]
STAY = "http://d1.test/0"
MINUTES = 10


class Clock:
    def __init__(self, world):
        self.world = world

    def __call__(self):
        return self.world.now

    def at(self, moment):
        return moment


class Again(Drone):
    """A drone whose pages are fetched again."""

    again = True

    def open(self):
        super().open()
        clock, policy = Clock(self.world), Told(after=AGE, early=False)
        self.revisits = Revisits(self.db, policy, rate=lambda: 1.0, random=Random(1))
        split = Split(clock)
        split.change(age=AGE, rate=1.0, share=0.5)
        counts = RevisitCounts(self.db, Sample(), Counter(), clock)
        self.revisiting = Revisiting(
            self.db,
            clock,
            self.revisits,
            self.frontier,
            policy=("fixed", policy),
            split=split,
            importance=lambda _: 1.0,
            counts=counts,
            random=Random(1),
            excluded=lambda _: False,
            on=True,
            new=True,
        )
        self.slot_moves.queue_revisits = self.revisiting.drain
        unused = SimpleNamespace(forget=None, again=None)
        self.delivery = ItemDelivery(unused, self.frontier, unused, clock, None, self.revisiting)

    def accept(self, kind, items):
        if kind is Kind.QUEUED:
            self.delivery.queued(items)
        else:
            super().accept(kind, items)

    def work(self, found):
        """A moment of its life, with a checkpoint in the middle; `found` counts what it fetches."""
        now = self.world.now
        self.learn()
        self.step(5)
        if any(self.slot_moves.owned):
            self.revisiting.on_feed(now)
            link = self.frontier.take(now)
            if link is not None:
                found[self.number, link.url, is_ahead(link)] += 1
                outcome = Outcome(403, 0.01, at=now, ended=now)
                self.frontier.done(link, outcome, now)
                self.revisiting.on_ended(link, outcome, None)
        else:
            self.slot_moves.drain(now)
        self.checkpoint()
        self.box.send()
        while self.read():
            pass


@pytest.fixture(name="drones")
def _drones(tmp_path):
    """The first has all hosts, whose pages were fetched just now, so that signals of them wait."""
    world = World(tmp_path, 2, maps=[slot_map(1, 2, [0, 0])])
    members = [Again(world, number) for number in range(2)]
    for url in (*LEAVE, STAY):
        members[0].revisits.keep(PageRecord(url, "L", world.now, digest=1), world.now)
    world.now += 10
    yield members
    for drone in members:
        drone.close()


def resize(drones, owners):
    world = drones[0].world
    world.maps.append(slot_map(len(world.maps) + 1, 2, owners))


def ahead(drones, disturb=lambda _: None, minutes=MINUTES):
    """By drone and page, how often signals have had it fetched."""
    found = Counter()
    for second in range(60 * minutes // 5):
        for drone in drones:
            drone.work(found)
        disturb(second)
        drones[0].world.now += 5
    return {(number, url): times for (number, url, is_told), times in found.items() if is_told}


@pytest.mark.parametrize("owners", [[1, 0], [1, 1]], ids=["some leave", "all leave"])
def test_they_go_with_their_hosts(drones, owners):
    """Each page is fetched once, by the drone that has its host, and not later than it would have
    been here.
    """
    for url in (*LEAVE, STAY):
        assert drones[0].revisiting.tell(url, drones[0].world.now)
    drones[0].checkpoint()
    resize(drones, owners)

    assert ahead(drones, minutes=3) == {**{(1, url): 1 for url in LEAVE}, (owners[1], STAY): 1}


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(4))
def test_kills(drones, seed):
    """The same if drones are killed at any moment; what was fetched since the last checkpoint is
    fetched once more.
    """
    chance = Random(seed)
    for url in (*LEAVE, STAY):
        drones[0].revisiting.tell(url, drones[0].world.now)
    drones[0].checkpoint()
    resize(drones, [1, 0])

    def kill(_):
        for drone in drones:
            if chance.random() < 0.3:
                drone.crash()

    assert ahead(drones, kill) == {**{(1, url): 1 for url in LEAVE}, (0, STAY): 1}


def test_back_and_forth(drones):
    """Hosts that come back at once bring their signals back."""
    for url in LEAVE:
        drones[0].revisiting.tell(url, drones[0].world.now)
    drones[0].checkpoint()
    resize(drones, [1, 0])
    resize(drones, [0, 0])

    assert ahead(drones) == {(0, url): 1 for url in LEAVE}


def test_a_link_that_was_made_of_a_signal(drones):
    """It goes with its host's queue or after it; and its page's record does not wait for it here."""
    drones[0].world.now += 60
    for url in LEAVE:
        drones[0].revisiting.tell(url, drones[0].world.now)
    drones[0].revisiting.on_feed(drones[0].world.now)
    drones[0].checkpoint()
    resize(drones, [1, 0])

    assert ahead(drones, minutes=3) == {(1, url): 1 for url in LEAVE}
    drones[0].world.now += AGE - 600
    ahead(drones, minutes=15)
    assert (len(drones[0].revisits), len(drones[1].revisits)) == (1, 6)
