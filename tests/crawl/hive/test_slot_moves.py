"""What a drone does when the slot map changes, one case at a time; tests/crawl/hive/test_moves.py
tries all orders.
"""

import pytest

from tests.support.frontiers import over_budget
from tests.support.moving_hives import hive, run, slot_map
from tests.support.seens import bloom, memory
from webcrawl.base.model import Outcome
from webcrawl.base.readable import count
from webcrawl.crawl.hive.batch import Kind
from webcrawl.crawl.hive.errors import HiveError

PAGES = [f"http://d{slot}.test/{page}" for slot in range(3) for page in range(3)]


def resize(world, drones, owners):
    world.maps.append(slot_map(len(world.maps) + 1, len(drones), owners))


def work(drone, most=200):
    """Slices until nothing is left to do at once."""
    for _ in range(most):
        drone.step()


class TestMove:
    def test_everything_of_a_slot_goes_along(self, tmp_path):
        """The new owner fetches what had been found, knows what was fetched, and asks no host too
        early.
        """
        with hive(tmp_path, [0, 0, 0]) as (world, drones):
            one, other = drones
            one.found(PAGES)
            one.feed()
            one.take()
            one.done("d0.test", Outcome(200, 2.0))
            resize(world, drones, [1, 1, 0])
            run(world, drones)

            assert set(world.fetched) == set(PAGES)
            assert set(world.fetched.values()) == {1}
            assert [sum(drone.slot_moves.owned[:3]) for drone in drones] == [1, 2]
            assert other.slot_moves.stats()["slots/came"] == 2
            assert one.slot_moves.stats()["slots/left"] == 2
            other.found(PAGES)
            run(world, drones)
            assert set(world.fetched.values()) == {1}

    def test_a_host_on_its_way_is_no_damage(self, tmp_path):
        """A checkpoint in which a host without URLs has come, and its slot has not, is sound."""
        with hive(tmp_path, [0, 0, 0]) as (world, drones):
            drones[0].found(PAGES[:1])
            run(world, drones)
            resize(world, drones, [1, 0, 0])
            for drone in drones:
                drone.learn()
            work(drones[0])
            pieces = [item for _, batch in drones[0].box.batches for item in batch.items]
            assert [piece[1] for piece in pieces] == ["host", "domain", "keys", "end"]
            drones[1].slot_moves.receive(Kind.SLOT, pieces[:1], world.now)
            drones[1].checkpoint()
            drones[1].crash()  # which verifies the state

            assert not drones[1].slot_moves.is_settled

    def test_a_request_in_flight_is_waited_for(self, tmp_path):
        """Nothing of the slots is packed before it has ended, whatever else leaves."""
        with hive(tmp_path, [0, 0, 0]) as (world, drones):
            drones[0].found(PAGES)
            drones[0].feed()
            drones[0].take()
            resize(world, drones, [1, 1, 1])
            drones[0].learn()
            work(drones[0])
            assert all(batch.kind is not Kind.SLOT for _, batch in drones[0].box.batches)

            drones[0].done(next(iter(drones[0].links)), Outcome(200, 0.1))
            work(drones[0])

            assert drones[0].slot_moves.is_settled

    def test_seeds_of_slots_that_were_here_are_sent_on(self, tmp_path):
        """A drone remembers which slots it had at any time, and no others."""
        with hive(tmp_path, [0, 1, 0]) as (world, drones):
            resize(world, drones, [1, 1, 0])
            run(world, drones)

            assert [drones[0].slot_moves.was_here(slot) for slot in range(3)] == [True, False, True]
            assert [drones[1].slot_moves.was_here(slot) for slot in range(3)] == [True, True, False]
            drones[0].crash()
            assert drones[0].slot_moves.was_here(0)

    def test_domains_stay_if_the_partition_is_by_host(self, tmp_path):
        """Budgets are not moved then; URLs over a budget go when it lets them go on."""
        with hive(tmp_path, [0, 0, 0], domains=False) as (world, drones):
            world.allowance.pages = 1
            drones[0].found(PAGES)
            run(world, drones)
            resize(world, drones, [1, 1, 1])
            for _ in range(200):
                for drone in drones:
                    drone.learn()
                    drone.step()
            assert over_budget(drones[0].frontier) == (6, 3)
            world.allowance.pages = 100
            run(world, drones)
            assert set(world.fetched) == set(PAGES)


class TestStores:
    def test_memory_moves_too(self, tmp_path):
        """With MemorySeen a slot moves like with DiskSeen."""
        with hive(tmp_path, [0, 0, 0], factory=memory) as (world, drones):
            drones[0].found(PAGES)
            resize(world, drones, [1, 0, 1])
            run(world, drones)
            drones[1].found(PAGES)
            run(world, drones)

            assert set(world.fetched.values()) == {1}

    def test_a_bloom_filter_refuses_in_one_line(self, tmp_path):
        """Its slots cannot leave: the map is refused before anything has changed."""
        with hive(tmp_path, [0, 0, 0], factory=bloom) as (world, drones):
            resize(world, drones, [1, 0, 0])
            with pytest.raises(
                HiveError,
                match=r"cannot be resized: a webcrawl\.frontier\.seen\.bloom\.BloomSeen cannot hand over",
            ) as told:
                drones[0].learn()

            assert "\n" not in str(told.value)
            assert drones[0].slot_moves.map == world.maps[0]
            assert list(drones[0].slot_moves.owned[:3]) == [1, 1, 1]


class TestLoss:
    def lose(self, world, drones, number, owners):
        """A drone's folder is gone; the others learn so with the next map, and its batches are sent
        to others.
        """
        lost = drones.pop(number)
        lost.close()
        resize(world, [0, 1, 2], owners)
        for drone in drones:
            drone.slot_moves.apply_map(world.maps[-1], lost=[number])
            drone.box.generation = drone.slot_moves.map.generation
            drone.reroute(number)
        for host in lost.links:
            del world.flying[host]

    @pytest.mark.parametrize("steps", [0, 1, 3, 5, 8, 12, 20, 40])
    @pytest.mark.parametrize("owners", [[0, 0, 0], [2, 2, 2], [0, 2, 0]])
    def test_slots_on_their_way_to_it_go_elsewhere(self, tmp_path, steps, owners):
        """However much was packed for it, all that was not yet read there comes to the new owner,
        or comes back.
        """
        with hive(tmp_path, [0, 0, 0], drones=3) as (world, drones):
            drones[0].found(PAGES)
            drones[0].feed()
            drones[0].take()
            drones[0].done("d0.test", Outcome(200, 0.1))
            resize(world, drones, [1, 1, 1])
            drones[0].learn()
            drones[0].step(steps)
            self.lose(world, drones, 1, owners)
            run(world, drones)

            assert set(world.fetched) == set(PAGES)
            assert set(world.fetched.values()) == {1}
            assert [drone.slot_moves.is_settled for drone in drones] == [True, True]

    def test_slots_on_their_way_from_it_are_here(self, tmp_path):
        """What had come is kept, the rest is said in a line, and hosts that came without their
        record are asked too.
        """
        with hive(tmp_path, [1, 1, 1], drones=3) as (world, drones):
            drones[1].found(PAGES)
            drones[1].feed()
            drones[1].frontier.rotation.refill()
            resize(world, drones, [0, 1, 1])
            drones[1].learn()
            drones[0].learn()
            while not (
                pieces := [item for _, batch in drones[1].box.batches for item in batch.items]
            ):
                drones[1].step()
            assert pieces[0][:3] == [0, "urls", "d0.test"]
            drones[0].slot_moves.receive(Kind.SLOT, pieces[:1], world.now)
            self.lose(world, drones, 1, [0, 2, 2])
            run(world, drones)

            assert sorted(world.fetched) == sorted(set(PAGES[:3]) & set(world.fetched))
            assert world.fetched
            came = f"0 hosts, {count(len(pieces[0][3]), 'URL')}, 0 domains, 0 fingerprints"
            assert world.complaints == [
                f"slot 0 is lost with drone 1; only this had arrived: {came}"
            ]
            assert all(drone.slot_moves.is_settled for drone in drones)

    def test_a_slot_that_does_not_come_whole_is_told(self, tmp_path):
        """The counts of both sides are compared; the slot is owned all the same."""
        with hive(tmp_path, [0, 0, 0]) as (world, drones):
            resize(world, drones, [1, 0, 0])
            drones[1].learn()
            drones[1].slot_moves.receive(Kind.SLOT, [[0, "end", "", [1, 2, 0, 3]]], world.now)

            (line,) = world.complaints
            assert line.startswith(
                "slot 0 did not arrive whole: 0 hosts, 0 URLs, 0 domains, 0 fingerprints arrived of "
            )
            assert line.endswith(" 1 host, 2 URLs, 0 domains, 3 fingerprints sent")
            assert drones[1].slot_moves.owned[0]

    def test_a_host_whose_record_was_refused_is_asked_all_the_same(self, tmp_path):
        """Its URLs have come: they are fetched, and no hive waits for the record for ever."""
        with hive(tmp_path, [0, 0, 0]) as (world, drones):
            drones[0].found(PAGES)
            drones[0].feed()
            drones[0].frontier.rotation.refill()
            resize(world, drones, [1, 0, 0])
            for drone in drones:
                drone.learn()
            work(drones[0])
            for _, batch in drones[0].box.batches:
                batch.items[:] = [item for item in batch.items if item[1] != "host"]
            run(world, drones)

            assert set(world.fetched) == set(PAGES)
            assert [
                line for line in world.complaints if "slot 0 did not arrive whole: 0 hosts" in line
            ]
