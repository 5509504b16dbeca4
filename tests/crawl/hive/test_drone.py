"""What a drone does with a batch, and what it tells others."""

from contextlib import closing
from random import Random

import pytest

from benchmarks.support.memory_seen import MemorySeen
from webcrawl.base.model import Link, Status
from webcrawl.crawl.hive.batch import MAX_ITEMS_BYTES, Batch, Kind
from webcrawl.crawl.hive.drone import Drone
from webcrawl.crawl.hive.errors import LaterMapNeeded
from webcrawl.crawl.hive.partition import Partition, SlotMap
from webcrawl.crawl.hive.slot_moves import SlotMoves
from webcrawl.crawl.hive.slot_pieces import SlotRules
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Rules, Shape
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.state import open_frontier
from webcrawl.net.robots import LIMIT
from webcrawl.store.crawldb import CrawlDB

URLS = [f"http://site{number}.test/" for number in range(30)]
SITES = [f"http://site{number}.test/{page}" for number in range(40) for page in ("", "a")]
RECORDS = [f"{url} L   0   ".encode() for url in SITES]
KEYS = list(range(len(SITES)))


class Outbox:
    """Notes what is put into it."""

    generation = 0

    def __init__(self):
        self.batches = []

    def reroute(self, gone, route):
        """Three slices."""
        return iter([gone] * 3)

    def put(self, drone, kind, items):
        self.batches += [(drone, kind, item) for item in items]


class HomeCrawl:
    """Notes what comes."""

    def __init__(self):
        self.got = []

    def now(self):
        return 0.0

    def __getattr__(self, name):
        return lambda *values, **named: self.got.append((name, *values, *named.values()))


@pytest.fixture(name="outbox")
def _outbox():
    return Outbox()


@pytest.fixture(name="drone")
def _drone(tmp_path, outbox):
    with closing(CrawlDB(tmp_path / "state")) as db:
        slot_of = Partition("domain", str).slot
        drone = Drone(0, outbox, slot_of, lambda: ClockCache(100))
        shape = Shape(8, 2, 1 << 20)
        frontier = open_frontier(
            db, shape, Rules(ByDepth(8), Mercator(0, 0, 0), Limits(8, 8)), random=Random(0)
        )
        seen = MemorySeen(db, memory=1 << 20, cache=ClockCache(100))
        drone.slot_moves = SlotMoves(
            db, 0, frontier, seen, SlotRules(slot_of), outbox, drone.accept
        )
        drone.home = HomeCrawl()
        drone.settle(SlotMap.fair(range(3)))
        yield drone


def ours(drone, *, wanted=True):
    return next(url for url in URLS if drone.is_ours(url) is wanted)


def take(drone, kind, *items, generation=1):
    drone.receive(Batch(kind, 1, generation, 1, list(items)))
    return drone.home.got


def owner(drone, url):
    return drone.slots.owners[drone.slot(url)]


class TestFromOthers:
    @pytest.mark.parametrize("kind", [Kind.LINKS, Kind.QUEUED])
    def test_links(self, drone, outbox, kind):
        """Links that are ours are taken in; the others go on to their owner."""
        records = [Link(url, "L", "http://via.test/").pack() for url in URLS]

        got = take(drone, kind, *records)

        mine = [record for url, record in zip(URLS, records, strict=True) if drone.is_ours(url)]
        assert [name for name, _ in got] == [{Kind.LINKS: "links", Kind.QUEUED: "queued"}[kind]]
        assert sorted(got[0][1]) == sorted(mine)
        assert sorted(outbox.batches) == sorted(
            (owner(drone, url), kind, record)
            for url, record in zip(URLS, records, strict=True)
            if not drone.is_ours(url)
        )

    @pytest.mark.parametrize(
        "damaged", [b"", b"http://site1.test/ L", b"x L   0   ", "text", 7, None]
    )
    def test_what_is_no_link(self, drone, damaged):
        """What cannot be a link is counted, and stops nothing."""
        record = Link(ours(drone)).pack()

        assert take(drone, Kind.LINKS, damaged, record) == [("links", [record])]
        assert drone.stats()["refused"] == 1

    def test_requests(self, drone, outbox):
        """A spider's request comes with its variants, and says whether it passes the seen test."""
        mine, other = Link(ours(drone), request="x"), Link(ours(drone, wanted=False), request="y")

        got = take(drone, Kind.REQUESTS, [mine.pack(), ["v"], True], [other.pack(), [""], False])

        assert got == [("request", mine, ["v"], True)]
        assert outbox.batches[0][1:] == (Kind.REQUESTS, [other.pack(), [""], False])

    def test_votes(self, drone):
        """Who links to whom is told to the crawl."""
        assert take(drone, Kind.VOTES, ["a.test", ours(drone)]) == [("vote", "a.test", ours(drone))]

    def test_robots(self, drone, outbox):
        """What came of a robots.txt goes to the drone whose host waits for it."""
        mine = Link("http://other.test/robots.txt", "P", history=ours(drone)[:-1])
        other = Link("http://other.test/robots.txt", "P", history=ours(drone, wanted=False)[:-1])

        got = take(
            drone, Kind.ROBOTS, [mine.pack(), 200, b"x", "", "c"], [other.pack(), -4, b"", "", ""]
        )

        assert got == [("robots", mine, 200, b"x", "", "c")]
        assert outbox.batches[0][1:] == (Kind.ROBOTS, [other.pack(), -4, b"", "", ""])

    def test_a_later_map(self, drone, outbox):
        """A batch that was written by a map that we do not know is not booked before we do."""
        other = ours(drone, wanted=False)
        with pytest.raises(LaterMapNeeded):
            take(drone, Kind.SLOT, [drone.slot(other), "keys", "", b""], generation=2)
        with pytest.raises(LaterMapNeeded):
            take(drone, Kind.LINKS, Link(other).pack(), generation=2)

        assert outbox.batches == []
        assert drone.received == 0


class TestToOthers:
    def test_votes(self, drone, outbox):
        """A link between domains is told to the owner of its target; the crawl counts those to its
        own.
        """
        other = ours(drone, wanted=False)

        assert not drone.send_vote("a.test", ours(drone))
        assert drone.send_vote("a.test", other)
        assert outbox.batches == [(owner(drone, other), Kind.VOTES, ["a.test", other])]

    def test_robots(self, drone, outbox):
        """A robots.txt on another drone's host is asked for there; the answer, or that there is
        none, comes back.
        """
        other = ours(drone, wanted=False)
        requested = Link(f"{other}robots.txt", "P", history=ours(drone)[:-1])
        drone.ask_robots(requested.pack())
        assert outbox.batches == [(owner(drone, other), Kind.LINKS, requested.pack())]

        for_other = Link(f"{ours(drone)}robots.txt", "P", history=other[:-1])
        assert drone.send_robots_failure(for_other)
        assert not drone.send_robots_failure(requested)
        assert outbox.batches[1:] == [
            (owner(drone, other), Kind.ROBOTS, [for_other.pack(), Status.TIMEOUT, b"", "", ""])
        ]

    def test_long_robots(self, drone, outbox):
        """Of a longer robots.txt than anybody reads, no more is sent than shows that there was
        more.
        """
        for_other = Link(f"{ours(drone)}robots.txt", "P", history=ours(drone, wanted=False)[:-1])
        drone.send_robots_answer(for_other, 200, b"#" * (20 << 20), None, "")
        ((_, _, (_, _, body, _, _)),) = outbox.batches

        assert LIMIT < len(body) < MAX_ITEMS_BYTES


class TestLost:
    def test_batches_for_it_go_to_others_in_slices(self, drone):
        """What was for a lost drone is put anew a slice at a time; everybody who asks once more
        changes nothing.
        """
        later = drone.slots.resized((0, 1))
        drone.apply_map(later, [2])
        drone.part_from(2)

        assert drone.rerouted.keys() == {2}
        assert [drone.reroute() for _ in range(5)] == [True] * 4 + [False]
        assert drone.rerouted.keys() == set()

    def test_before_its_number_is_used_again(self, drone):
        """All is done before another map is learned."""
        drone.apply_map(drone.slots.resized((0, 1)), [2])
        drone.apply_map(drone.slots.resized((0, 1, 2)))

        assert drone.rerouted.keys() == set()


# -- what pages link to


class Owners:
    """Slots that do not move; notes what is sent to others."""

    def __init__(self, me, slots):
        self.me, self.slots, self.sent = me, slots, []
        self.owned = bytearray(owner == me for owner in slots.owners)

    def owner(self, slot):
        return self.slots.owners[slot]

    def was_here(self, slot):
        return bool(self.owned[slot])

    def send(self, kind, slot, items):
        self.sent += [(self.owner(slot), kind, item) for item in items]


def drone_of(me=0, drones=range(3), size=1000):
    drone = Drone(me, None, Partition("domain", str).slot, lambda: ClockCache(size))
    drone.slot_moves = Owners(me, SlotMap.fair(drones))
    return drone


def test_every_link_has_one_owner():
    """Ours stay with their keys and records; every other one goes to the drone that counts it as
    its own.
    """
    drones = [drone_of(me) for me in range(3)]

    keys, records = drones[0].keep_ours(KEYS, SITES, RECORDS)

    ours = [at for at, url in enumerate(SITES) if drones[0].is_ours(url)]
    assert list(keys) == ours
    assert list(records) == [RECORDS[at] for at in ours]
    others = [
        (number, Kind.LINKS, RECORDS[at])
        for at, url in enumerate(SITES)
        for number in (1, 2)
        if drones[number].is_ours(url)
    ]
    assert sorted(drones[0].slot_moves.sent) == sorted(others)
    assert len(ours) + len(others) == len(SITES)


def test_a_host_is_never_divided():
    """All URLs of a host have the same owner, whatever their port, scheme and path."""
    one = drone_of()

    for host in range(40):
        urls = (
            f"http://site{host}.test/",
            f"https://site{host}.test/x?y",
            f"http://site{host}.test:8080/z",
        )
        assert len({one.slot(url) for url in urls}) == 1


def test_sent_once():
    """What was sent lately is not sent again, as long as the owners stay the same."""
    one = drone_of()
    one.keep_ours(KEYS, SITES, RECORDS)
    before = list(one.slot_moves.sent)

    one.keep_ours(KEYS, SITES, RECORDS)
    assert one.slot_moves.sent == before
    assert (one.foreign, one.sent) == (2 * len(before), len(before))


def test_all_ours():
    """A drone that is alone keeps the batch as it is."""
    keys, records = drone_of(drones=(0,)).keep_ours(KEYS, SITES, RECORDS)

    assert keys is KEYS
    assert records is RECORDS


def test_each_drone_keeps_its_own_seeds():
    """All drones read the seeds, and each keeps its own; the others are nobody's to send."""
    one = drone_of()

    keys, _ = one.keep_seeds(KEYS, SITES, RECORDS)

    assert keys == [at for at, url in enumerate(SITES) if one.is_ours(url)]
    assert one.slot_moves.sent == []


def test_sent_again_to_other_owners(drone, outbox):
    """With another map a link is sent again: whoever got it may have given its slot away."""
    url = ours(drone, wanted=False)
    batch = [1], [url], [Link(url, "L").pack()]
    drone.keep_ours(*batch)
    drone.keep_ours(*batch)
    assert len(outbox.batches) == 1

    drone.apply_map(SlotMap.fair(range(3), generation=2))
    drone.keep_ours(*batch)
    assert len(outbox.batches) == 2
