"""The ground of a crawl: what its parts and features are opened on, and what is around it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from webcrawl.base.model import Link
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.control.in_force import InForce
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.request_word import Takes
from webcrawl.frontier.frontier import Frontier as OurFrontier
from webcrawl.frontier.protocol import Frontier, FrontierFactory
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.url_fingerprint import KEY_BYTES

if TYPE_CHECKING:
    from webcrawl.crawl.hive.drone import Drone
    from webcrawl.crawl.hive.member import DroneParts, Membership
    from webcrawl.crawl.rendering.deciding import Deciding
    from webcrawl.crawl.revisiting import Revisiting
    from webcrawl.crawl.signalling import Signalling


class OwnFrontier(Protocol):
    """What a spider brings that has a frontier of its own: see the spider `walk` in `lab/walks`."""

    def factory(
        self,
        values: CheckedSettings,
        db: CrawlDB,
        outputs: Outputs,
        clock: CrawlClock,
        key: bytes,
    ) -> FrontierFactory:
        """Return what opens the frontier. Raise Unfit for a setting that it cannot use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """All that a crawl gets beside its settings."""

    seeds: Seeds | None = None
    on_ready: Callable[[], None] | None = None  # called, from a thread, when new URLs are ready
    # Code waits for how each URL ends: no crawl ends before its hosts have had HOST_PATIENCE
    awaits_ends: bool = False
    # an errback must be called if the frontier drops the link
    wants_refusal: Callable[[Link], bool] = lambda _: False
    # which methods of the spider a request of another drone may name
    takes: Takes = lambda *_: False
    fixed: Collection[str] = ()  # settings that go before what a former run was ordered to do
    member: Membership | None = None  # if the crawl is one drone of a hive
    key: bytes | None = None  # of all hashes, if other crawls have to have the same
    frontier: OwnFrontier | None = None  # the spider's own, instead of the one that FRONTIER names


ALONE = Surroundings()


@dataclass(slots=True)
class Ground:
    """What the parts of a crawl are opened on; `assembly.py` fills it.

    The fields with `init=False` are set as soon as there is one, in the order of `assembly._open`:
    a part that is opened before cannot read them.
    """

    db: CrawlDB
    around: Surroundings
    in_force: InForce
    outputs: Outputs
    moments: Moments
    clock: CrawlClock
    log: CrawlLog
    key: bytes
    counters: Counter[str] = field(default_factory=Counter)
    domains: RegisteredDomains = field(default_factory=RegisteredDomains)
    pipeline: LinkPipeline = field(init=False)
    # whether a rule in force by now refuses a URL
    excludes: Callable[[str], bool] = field(init=False)
    seen: SeenStore = field(init=False)
    frontier: Frontier = field(init=False)
    # Features that the parts know, too
    drone_parts: DroneParts | None = None  # if this is one drone of a hive
    rendering: Deciding | None = None  # if a browser renders the pages that need it
    revisiting: Revisiting | None = None  # if pages are fetched again
    # what sitemaps, feeds and hubs say of pages that are fetched again
    signalling: Signalling | None = None

    @property
    def values(self) -> CheckedSettings:
        """Return the settings, with those in force by command."""
        return self.in_force.values

    @property
    def our_frontier(self) -> OurFrontier | None:
        """Return the frontier, or None if FRONTIER or the spider has brought another one than ours."""
        return self.frontier if isinstance(self.frontier, OurFrontier) else None

    @property
    def drone(self) -> Drone | None:
        """Return the part of a drone that talks to the others of its hive."""
        return self.drone_parts.drone if self.drone_parts is not None else None

    def site_of(self, url: str) -> str:
        """Return the registered domain of a URL."""
        return self.domains.of(host_of(url))


def open_ground(
    values: CheckedSettings, db: CrawlDB, around: Surroundings, opened: ExitStack
) -> Ground:
    """Open the ground. `opened` closes what was opened if a later part of the crawl cannot be.

    A key that other crawls have to have, too, such as the drones of a hive, is kept in the state.
    """
    if around.seeds is not None:
        opened.callback(around.seeds.close)
    in_force = InForce(db, values, around.fixed)
    outputs = opened.enter_context(closing(Outputs(db, Path(in_force.values["JOBDIR"]))))
    moments, clock = Moments(), CrawlClock(db)
    log = CrawlLog(outputs.open("logs/crawl.log"), moments.on_ended)
    shared_key = around.member.key if around.member is not None else around.key
    if shared_key is not None:
        db.set("key", shared_key)
    return Ground(db, around, in_force, outputs, moments, clock, log, key_of(db))


def key_of(db: CrawlDB) -> bytes:
    """Return the key of all hashes, drawn once: fingerprints of another crawl mean nothing here."""
    key = db.get("key")
    if key is None:
        key = os.urandom(KEY_BYTES)
        db.set("key", key)
    return key
