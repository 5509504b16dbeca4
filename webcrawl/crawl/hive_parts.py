"""The parts of a crawl that is one drone of a hive; no other loads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from webcrawl.base.loading import load
from webcrawl.crawl.hive.drone import Drone
from webcrawl.crawl.hive.drone_identity import keep_map
from webcrawl.crawl.hive.inbox import Inbox
from webcrawl.crawl.hive.member import Membership, Obeyed, Post
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import BY_HOST, SlotFingerprints
from webcrawl.crawl.hive.slot_moves import Moving
from webcrawl.crawl.hive.sound_items import Sound
from webcrawl.crawl.hive.splitter import Splitter
from webcrawl.crawl.request_word import Takes, check_link
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.url_fingerprint import Fingerprints


def fingerprints(key: bytes, member: Membership) -> Fingerprints:
    """Those whose slots can be moved."""
    return SlotFingerprints(key, member.partition.slot)


def open_post(
    values: Mapping[str, Any],
    db: CrawlDB,
    member: Membership,
    frontier: Frontier,
    seen: SeenStore,
    takes: Takes,
    lose: Callable[[str, str], None],
) -> Post:
    """The drone with its letters for the others, and its state from `db`.

    `takes`: which methods of the spider a request may name; `lose` is told of requests that no other drone would take.
    """
    slot_of = member.partition.slot
    outbox = Outbox(db, member.me, member.hive)
    sound = Sound(partial(check_link, takes=takes), lose)
    drone = Drone(member.me, outbox, lambda slots: keep_map(db, slots), sound)
    domains = member.partition.way != BY_HOST
    drone.moving = Moving(
        db, member.me, frontier, seen, slot_of, outbox, drone.accept, domains=domains, leaves=sound.leaving
    )
    cache, size = load(values["HIVE_URL_CACHE"]), values["URL_CACHE_SIZE"]
    drone.splitter = Splitter(slot_of, drone.moving, lambda: cache(size))
    drone.settle(member.slots)
    frontier.votes_go(drone.voted)
    return Post(drone, outbox, Inbox(db, member.hive, drone.take), Obeyed(db))
