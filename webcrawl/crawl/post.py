"""What a crawl has that is one drone of a hive; no other loads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webcrawl.frontier.frontier import Frontier
from webcrawl.hive.drone import Drone
from webcrawl.hive.fingerprints import SlotFingerprints
from webcrawl.hive.identity import keep_map
from webcrawl.hive.inbox import Inbox
from webcrawl.hive.member import Membership, Post
from webcrawl.hive.moving import Moving
from webcrawl.hive.obeyed import Obeyed
from webcrawl.hive.outbox import Outbox
from webcrawl.hive.partition import BY_HOST
from webcrawl.hive.splitter import Splitter
from webcrawl.loading import load
from webcrawl.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.fingerprint import Fingerprints


def fingerprints(key: bytes, member: Membership) -> Fingerprints:
    """Those whose slots can be moved."""
    return SlotFingerprints(key, member.partition.slot)


def open_post(values: Mapping[str, Any], db: CrawlDB, member: Membership, frontier: Frontier, seen: SeenStore) -> Post:
    """What a drone has for the others, with its state from `db`."""
    slot_of = member.partition.slot
    outbox = Outbox(db, member.me, member.hive)
    drone = Drone(member.me, outbox, lambda slots: keep_map(db, slots))
    domains = member.partition.way != BY_HOST
    drone.moving = Moving(db, member.me, frontier, seen, slot_of, outbox, drone.accept, domains=domains)
    cache, size = load(values["HIVE_URL_CACHE"]), values["HIVE_URL_CACHE_SIZE"]
    drone.splitter = Splitter(slot_of, drone.moving, lambda: cache(size))
    drone.settle(member.slots)
    frontier.votes_go(drone.voted)
    return Post(drone, outbox, Inbox(db, member.hive, drone.take), Obeyed(db))
