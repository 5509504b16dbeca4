"""Slots change hands while the hive crawls, drones are killed at every step: nothing is lost,
doubled, or rude.
"""

import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.examples import examples
from tests.support.moving_hives import Drone, World, run, slot_map
from tests.support.patches import patched
from tests.support.places import IN_MEMORY
from webcrawl.base.model import Outcome
from webcrawl.frontier import host_state, place_shares, rotation

SLOTS, DRONES = 4, 3
DRONE = st.integers(0, DRONES - 1)
URLS = [
    f"http://{host}d{slot}.test/{page}"
    for slot in range(SLOTS)
    for host in ("", "a.", "b.")
    for page in range(4)
]


class HiveMachine(RuleBasedStateMachine):
    """Every page is fetched, once unless its drone forgot it; no host is asked twice at a time or
    too early.
    """

    @initialize(
        owners=st.lists(DRONE, min_size=SLOTS, max_size=SLOTS),
        chance=st.randoms(use_true_random=False),
        pages=st.sampled_from([2, 1000]),
        by_domain=st.booleans(),
    )
    def found_hive(self, owners, chance, pages, by_domain):
        links = {url: chance.sample(URLS, chance.randint(0, 6)) for url in URLS}
        self.patches = patched(
            (rotation, {"URLS_MOVED_PER_TURN": 3}),
            (host_state, {"STAY": 2}),
            (place_shares, {"MIN_PLACES": 1, "WIDE_FACTOR": 1}),
        )
        folder = Path(self.patches.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY)))
        self.world = World(folder, DRONES, maps=[slot_map(1, DRONES, owners)])
        self.world.allowance.pages, self.world.pages = pages, links
        self.drones = [Drone(self.world, number, domains=by_domain) for number in range(DRONES)]
        for drone in self.drones:
            self.patches.callback(drone.close)
        self.seeds = set()

    @rule(drone=DRONE, urls=st.lists(st.sampled_from(URLS), min_size=1, max_size=8))
    def seed(self, drone, urls):
        """A page of somebody's is found, and a checkpoint has it."""
        self.seeds.update(urls)
        self.drones[drone].found(urls)
        self.drones[drone].checkpoint()

    @rule(drone=DRONE, merge=st.booleans())
    def feed(self, drone, merge):
        self.drones[drone].feed(merge=merge)

    @rule(drone=DRONE)
    def take(self, drone):
        self.drones[drone].take()

    @precondition(lambda self: self.world.flying)
    @rule(pick=st.randoms(use_true_random=False), told=st.sampled_from([0, 0, 0, 30, 2000]))
    def done(self, pick, told):
        host = pick.choice(sorted(self.world.flying))
        drone = self.drones[self.world.flying[host]]
        drone.done(host, Outcome(503, 0.1, told) if told else Outcome(200, 0.2))

    @rule(seconds=st.floats(0, 20))
    def pass_time(self, seconds):
        self.world.now += seconds

    @rule(drone=DRONE)
    def send(self, drone):
        self.drones[drone].box.send()

    @rule(drone=DRONE, most=st.integers(1, 20))
    def read(self, drone, most):
        for _ in range(most):
            self.drones[drone].read()

    @rule(drone=DRONE, most=st.integers(1, 20))
    def step(self, drone, most):
        self.drones[drone].step(most)

    @rule(drone=DRONE)
    def drain(self, drone):
        if not any(self.drones[drone].slot_moves.owned):
            self.drones[drone].slot_moves.drain(self.world.now)

    @rule(drone=DRONE)
    def checkpoint(self, drone):
        self.drones[drone].checkpoint()

    @rule(drone=DRONE)
    def crash(self, drone):
        self.drones[drone].crash()

    def may_resize(self):
        """The coordinator waits until all drones know the map, and all slots are where they belong."""
        last = self.world.maps[-1].generation
        return all(
            drone.slot_moves.is_settled and drone.slot_moves.map.generation == last
            for drone in self.drones
        )

    @rule(owners=st.lists(DRONE, min_size=SLOTS, max_size=SLOTS))
    def resize(self, owners):
        if self.may_resize():
            self.world.maps.append(slot_map(len(self.world.maps) + 1, DRONES, owners))

    @rule(drone=DRONE)
    def learn(self, drone):
        self.drones[drone].learn()

    @invariant()
    def nobody_shares_a_slot(self):
        for slot in range(SLOTS):
            assert sum(drone.slot_moves.owned[slot] for drone in self.drones) <= 1

    @invariant()
    def slots_came_whole(self):
        assert self.world.complaints == []

    def teardown(self):
        if hasattr(self, "drones"):
            with self.patches:
                self.finish()

    def finish(self):
        world = self.world
        world.allowance.pages = float("inf")
        for drone in self.drones:
            drone.checkpoint()
            drone.crash()
        run(world, self.drones)
        reached, left = set(), list(self.seeds)
        while left:
            url = left.pop()
            if url not in reached:
                reached.add(url)
                left += world.pages[url]
        assert set(world.fetched) == reached
        for url, count in world.fetched.items():
            assert count <= 1 + world.lost[url], f"{url} was fetched {count} times"
        for slot in range(SLOTS):
            assert [drone.number for drone in self.drones if drone.slot_moves.owned[slot]] == [
                world.maps[-1].owners[slot]
            ]
        for drone in self.drones:
            assert len(drone.frontier) == 0
            assert drone.slot_moves.is_settled
        self.slots_came_whole()


class RudeCoordinator(HiveMachine):
    """A map may change again while slots are on their way."""

    def may_resize(self):
        return len(self.world.maps) < 6


TestHive = HiveMachine.TestCase
TestHive.settings = examples(20, stateful_step_count=60)
TestRudeCoordinator = RudeCoordinator.TestCase
TestRudeCoordinator.settings = examples(20, stateful_step_count=60)
