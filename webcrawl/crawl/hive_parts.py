"""The parts of a crawl that is one drone of a hive; no other loads it.

Why no URL is fetched twice in a hive, although no drone knows what the others have seen:

    one owner      a URL's host has one slot, and a slot one drone (hive/partition.py). Only the
                   owner's seen store judges the URL; the others send it there (hive/drone.py)
    one judgement  batches of links may arrive twice: the owner's seen store knows them then. What
                   it would not notice (REQUESTS, QUEUED, SLOT) goes in exact batches, which are
                   numbered, and handled once (hive/outbox.py, hive/batch.py)
    one hand-over  a slot that moves takes its fingerprints and queues along, in exact batches, and
                   nothing of it is fetched until all of them have come (hive/slot_moves.py)
    no two owners  a drone that the server does not hear any more may be given up. It has ceased to
                   take URLs by then: its fence has closed (hive/fence.py), and `hive adopt --lost`
                   waits for one that is longer than the lease

After a kill, the URLs that were requested since the drone's last checkpoint are fetched again, as
in any crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from webcrawl.base.model import Link, is_prerequisite, is_revisit, unpack
from webcrawl.base.own_code import made
from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.ground import Ground
from webcrawl.crawl.hive.batch import Inbox, hive_id
from webcrawl.crawl.hive.batch_check import BatchCheck
from webcrawl.crawl.hive.drone import Drone
from webcrawl.crawl.hive.fence import Fence
from webcrawl.crawl.hive.member import DroneParts, Membership, ObeyedCommands, keep_map
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import BY_HOST
from webcrawl.crawl.hive.slot_moves import SlotMoves
from webcrawl.crawl.hive.slot_pieces import SlotRules
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.request_word import check_link
from webcrawl.crawl.revisiting import Revisiting
from webcrawl.crawl.seeding import Seeding
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.protocol import Frontier as AnyFrontier
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.protocol import cache_size

RobotsHeard = Callable[[Link, int, bytes, str, str], None]


def open_drone(
    ground: Ground, member: Membership, frontier: Frontier, lose: Callable[[str, str], None]
) -> DroneParts:
    """Return the parts of this drone, with what the crawl's last checkpoint has of them.

    They can send, but not receive: the parts of the crawl that items are for do not exist yet, and
    `deliver` connects them. `lose` is called with a kind and a line for each request that no other
    drone would take.
    """
    db, values, seen = ground.db, ground.values, ground.seen
    slot_of = member.partition.slot
    mark = hive_id(member.key)
    outbox = Outbox(db, member.me, mark)
    batch_check = BatchCheck(partial(check_link, takes=ground.around.takes), lose)
    cache, size = values["URL_CACHE"], cache_size(values["SEEN_MEMORY"] << 20)  # from MiB
    make_cache: Callable[[], UrlCache] = partial(made, "URL_CACHE", cache, UrlCache, size)
    drone = Drone(member.me, outbox, slot_of, make_cache, partial(keep_map, db), batch_check)
    slot_rules = SlotRules(
        slot_of,
        slots=member.partition.slots,
        moves_domains=member.partition.way != BY_HOST,
        for_other_drone=batch_check.link_for_other_drone,
    )
    drone.slot_moves = SlotMoves(db, member.me, frontier, seen, slot_rules, outbox, drone.accept)
    drone.settle(member.slots)
    fence = Fence(values["HIVE_FENCE"] or values["HIVE_LEASE"])
    ground.in_force.is_fenced = fence.is_closed
    frontier.domains.votes_go(drone.send_vote)
    drone_parts = DroneParts(
        drone, outbox, Inbox(db, mark, drone.receive), ObeyedCommands(db), fence
    )
    ground.moments.next_figures.append(
        lambda: {f"hive/{name}": value for name, value in drone_parts.stats().items()}
    )
    return drone_parts


def deliver(drone_parts: DroneParts, parts: Parts, robots: RobotsHeard) -> None:
    """Let what comes from other drones enter this crawl.

    `robots` takes the answer to a robots.txt that another drone fetched.
    """
    revisiting = parts.revisiting
    drone_parts.drone.home = ItemDelivery(
        parts.discovery, parts.frontier, parts.seeding, parts.clock, robots, revisiting
    )
    drone_parts.drone.slot_moves.submit_portion = parts.discovery.submit_portion
    if revisiting is not None:
        drone_parts.drone.slot_moves.queue_revisits = revisiting.drain


class ItemDelivery:
    """Delivers items of other drones to the parts of this crawl: it is a `hive.drone.HomeCrawl`."""

    def __init__(
        self,
        discovery: Discovery,
        frontier: AnyFrontier,
        seeding: Seeding,
        now: Callable[[], float],
        robots: RobotsHeard,
        revisiting: Revisiting | None = None,
    ) -> None:
        """`now` returns the crawl's time; `robots` takes the answer to a robots.txt."""
        self._revisiting = revisiting
        self._discovery = discovery
        self._frontier = frontier
        self.robots = robots
        self.now = now
        self.forget = discovery.forget
        self.seeds_again = seeding.again

    def links(self, records: Sequence[bytes]) -> None:
        """Take links that other drones have found on hosts of this one."""
        # A robots.txt of another drone's host that redirects here: URLs wait for it.
        redirected_robots = [record for record in records if is_prerequisite(record)]
        for record in redirected_robots:
            self._frontier.expedite(record)
        if redirected_robots:
            records = [record for record in records if not is_prerequisite(record)]
        self._discovery.received(records)

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        """Take a request of another drone's spider; `free`: even if it was seen before."""
        if free:
            self._discovery.insert(link, *variants)
        else:
            self._discovery.accept(link, *variants)

    def vote(self, source: str, url: str) -> None:
        self._frontier.domains.vote(source, url)

    def queued(self, records: Sequence[bytes]) -> None:
        """Take the queued links of hosts that come over from another drone."""
        if self._revisiting is not None:
            revisits = [record for record in records if is_revisit(record)]
            if revisits:
                self._revisiting.receive([*map(unpack, revisits)])
                records = [record for record in records if not is_revisit(record)]
        self._frontier.add(records)
