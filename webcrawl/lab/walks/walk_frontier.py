"""The frontier of a random walk: it holds one URL per walker, and lets it out as politely as ours does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import msgpack

from webcrawl.base.model import Link, Outcome, Packed, Status, unpack
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.last_run import OURS, OtherTerms
from webcrawl.crawl.open_frontier import Needs, need
from webcrawl.frontier.core import Core, Hooks, Queues, Rules, Shape
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.host_inspection import Look
from webcrawl.frontier.outage_pardon import Outage
from webcrawl.frontier.protocol import FrontierFactory
from webcrawl.frontier.rotation import Rotation
from webcrawl.frontier.state import open_frontier
from webcrawl.frontier.url_selection import UrlSelection
from webcrawl.lab.walks.walkers import META, Walkers, WalkRules
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

LOG = "logs/walk.log"
BY_DEPTH = "webcrawl.frontier.prioritizers.depth.ByDepth"  # as good as none: a walk has no depth
UNLIMITED = "webcrawl.frontier.allowances.unlimited.Unlimited"
NEEDS: Needs = {
    "FRONTIER": (OURS, "the default: a walk has a frontier of its own"),
    "FRONTIER_PRIORITIZER": (
        BY_DEPTH,
        "the default: else a walker may wait for ever behind others",
    ),
    "URL_FOLLOW": (True, "on: a walk follows links"),
    "HIVE_DRONES": (0, "0: drones divide URLs among them, and a walk goes wherever links lead"),
    "REVISIT_POLICY": ("none", "none: a walk comes back by itself"),
    "REQUISITES": (False, "off: a walk follows links"),
    "SITEMAPS": (None, "off: a sitemap is no link of a page"),
    "CONTENT_SEEN": ("process", "process: walks need the links of every page"),
    "DOMAIN_BUDGET": (UNLIMITED, "Unlimited: what is fetched again has nothing new, and would use up any budget"),
}


class WalkLook(Look):
    """Counts visits too."""

    def __init__(self, core: Core, walkers: Walkers) -> None:
        super().__init__(core)
        self._walkers = walkers

    def figures(self) -> dict[str, int | float]:
        return super().figures() | self._walkers.figures()


class WalkOutage(Outage):
    """Gives no probe once all visits are made."""

    def __init__(self, core: Core, rotation: Rotation, selection: UrlSelection, walkers: Walkers) -> None:
        super().__init__(core, rotation, selection)
        self._walkers = walkers

    def probe(self, now: float, *, anyone: bool) -> Link | None:
        return None if self._walkers.has_ended(self._core.in_flight) else super().probe(now, anyone=anyone)


class WalkFrontier(Frontier):
    """A frontier of places to start from; the walkers choose which of them is fetched, and when.

    The same URL may be queued several times, once for each walker that has come there.
    """

    def __init__(self, queues: Queues, rules: Rules, hooks: Hooks, *, resumed: float = 0.0, walkers: Walkers) -> None:
        self.walkers, self._awaited = walkers, hooks.awaited
        super().__init__(queues, rules, hooks, resumed=resumed)
        self.found = walkers.found
        self.core.dropped.append(lambda link, status: self._ended(link, status, asked=False))
        self.look = WalkLook(self.core, walkers)
        self.outage = WalkOutage(self.core, self._rotation, self._selection, walkers)

    def __len__(self) -> int:
        """The number of walkers that have somewhere to go, and of robots.txt in flight."""
        return super().__len__() + self.walkers.idle

    @property
    def over_budget(self) -> int:
        """All that is left once all visits are made: it may wait for ever, or for a command with more steps."""
        return len(self) - self.in_flight if self.walkers.has_ended() else 0

    def resting(self) -> bool:
        """As ever, or nobody gets an answer: walkers who start anew always have something that waits."""
        return self.walkers.stranded or super().resting()

    # -- in

    def add(self, records: Iterable[Packed]) -> None:
        """These are seeds: walks may start from there."""
        self.walkers.starts.add([unpack(record).url for record in records])

    def _enqueue(self, link: Link | None) -> None:
        if link is not None:
            self.core.queues.front.push(0, [link.pack()])
            self.core.queued += 1
            self.counters["added"] += 1

    # -- out

    def take(self, now: float, *, spare: bool = True) -> Link | None:
        if self.walkers.has_ended(self.in_flight):
            return None
        if self._awaited is None or not self._awaited():  # else not all seeds are here
            for link in self.walkers.start(now):
                self._enqueue(link)
        return super().take(now, spare=spare)

    def next_ready(self) -> float | None:
        if self.walkers.has_ended(self.in_flight):
            return None
        times = (super().next_ready(), self.walkers.next_start)
        return min((time for time in times if time is not None), default=None)

    # -- done

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        final = super().done(link, replace(outcome, wall=""), now)  # a walker goes on elsewhere
        if final:
            self._ended(link, outcome.status)
        return final

    def unasked(self, link: Link, now: float) -> None:
        super().unasked(link, now)
        self._ended(link, Status.OUT_OF_SCOPE)

    def _ended(self, link: Link, status: int, *, asked: bool = True) -> None:
        if not link.is_own:
            self._enqueue(self.walkers.ended(link, status, asked=asked))


@dataclass(frozen=True, slots=True)
class OpenedWalk:
    """What the spider `walk` brings to its crawl: a frontier with walkers, by these rules."""

    rules: WalkRules

    def factory(
        self, values: Mapping[str, Any], db: CrawlDB, outputs: Outputs, clock: CrawlClock, key: bytes
    ) -> FrontierFactory:
        """Open the walkers as of the last checkpoint. Raise Unfit or OtherTerms if they cannot walk, or go on, so."""
        need(values, NEEDS, "a random walk")
        data = db.get(META)
        before = WalkRules(*msgpack.unpackb(data)["rules"]) if data is not None else self.rules
        if str(before) != str(self.rules):
            raise OtherTerms(
                f"{db.folder.parent}: a walk with {before}, now {self.rules}: change it back, or use another JOBDIR"
            )
        random = Random(f"walk {values['RANDOM_SEED']}")
        return partial(open_walk, Walkers(db, self.rules, random, key, outputs.open(LOG).write, clock))


def open_walk(
    walkers: Walkers, db: CrawlDB, shape: Shape, rules: Rules, hooks: Hooks, *, random: Random, now: float = 0.0
) -> Frontier:
    """Open the frontier of these walkers. It folds no family: a walk comes to the same pages again and again."""
    kind = partial(WalkFrontier, walkers=walkers)
    return open_frontier(db, shape, replace(rules, folds=False), hooks, random=random, now=now, kind=kind)
