"""The spider `walk`: random walks over the web, and the frontier that it brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import msgpack
from scrapy.settings import BaseSettings

from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.errors import RulesError
from webcrawl.base.model import Link, Outcome, Packed, Status, unpack
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.last_run import OURS, OtherTerms
from webcrawl.crawl.open_frontier import Needs, need
from webcrawl.frontier.core import Core, Hooks, Queues, Rules, Shape
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.host_inspection import HostInspection
from webcrawl.frontier.outage_pardon import Outage
from webcrawl.frontier.protocol import FrontierFactory
from webcrawl.frontier.rotation import Rotation
from webcrawl.frontier.state import open_frontier
from webcrawl.frontier.url_selection import UrlSelection
from webcrawl.lab.walks.walkers import JUMPS, META, Walkers, WalkRules
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

LOG = "logs/walk.log"
BY_DEPTH = "webcrawl.frontier.prioritizers.depth.ByDepth"  # as good as none: a walk has no depth
UNLIMITED = "webcrawl.frontier.allowances.unlimited.Unlimited"
NEEDS: Needs = {
    "FRONTIER": (OURS, "the default, because a walk has a frontier of its own"),
    "FRONTIER_PRIORITIZER": (
        BY_DEPTH,
        "the default, because a walker could otherwise wait for ever behind others",
    ),
    "URL_FOLLOW": (True, "on, because a walk follows links"),
    "HIVE_DRONES": (
        0,
        "0, because drones divide URLs among them, but a walk goes wherever links lead",
    ),
    "REVISIT_POLICY": ("none", "none, because a walk comes back to pages by itself"),
    "REQUISITES": (False, "off, because a walk follows links"),
    "SITEMAPS": (None, "off, because a link in a sitemap is not a link of a page"),
    "CONTENT_SEEN": ("process", "process, because walks need the links of every page"),
    "DOMAIN_BUDGET": (
        UNLIMITED,
        "Unlimited: what is fetched again has nothing new, and would use up any budget",
    ),
}


class WalkInspector(HostInspection):
    """Adds the numbers of visits to the figures of a frontier."""

    def __init__(self, core: Core, walkers: Walkers) -> None:
        super().__init__(core)
        self._walkers = walkers

    def figures(self) -> dict[str, int | float]:
        return super().figures() | self._walkers.figures()


class WalkOutage(Outage):
    """Probes hosts in an outage like any crawl, but no more once all visits are made."""

    def __init__(
        self, core: Core, rotation: Rotation, selection: UrlSelection, walkers: Walkers
    ) -> None:
        super().__init__(core, rotation, selection)
        self._walkers = walkers

    def probe(self, now: float, *, anyone: bool) -> Link | None:
        if self._walkers.has_ended(self._core.in_flight):
            return None
        return super().probe(now, anyone=anyone)


class WalkFrontier(Frontier):
    """A frontier whose URLs are the places of walkers, who choose what is fetched next.

    Seeds are not queued: walks may start there. The same URL may be queued several times, once for
    each walker that has come there.
    """

    def __init__(
        self, queues: Queues, rules: Rules, hooks: Hooks, *, resumed: float = 0.0, walkers: Walkers
    ) -> None:
        """Open the frontier; the arguments before `walkers` are those of `Frontier`."""
        self.walkers = walkers
        self._awaited = hooks.awaited
        super().__init__(queues, rules, hooks, resumed=resumed)
        self.found = walkers.choose_link
        # A walker whose URL is dropped without a request has to jump, or it would stand there for
        # ever
        self.core.dropped.append(lambda link, status: self._ended(link, status, requested=False))
        self.look = WalkInspector(self.core, walkers)
        self.outage = WalkOutage(self.core, self.rotation, self._selection, walkers)

    def __len__(self) -> int:
        """Return the number of walkers that have somewhere to go, and of robots.txt in flight."""
        return super().__len__() + self.walkers.idle

    @property
    def over_budget(self) -> int:
        """Return the number of URLs that are left once all visits are made, and 0 before that.

        They wait until a command allows more steps.
        """
        return len(self) - self.in_flight if self.walkers.has_ended() else 0

    def resting(self) -> bool:
        """Return whether all hosts rest, or no walker gets an answer wherever it starts.

        The second counts as well, because walkers that start anew always have a URL in a queue.
        """
        return self.walkers.stranded or super().resting()

    # -- in

    def add(self, records: Iterable[Packed]) -> None:
        """Take seeds: walks may start there."""
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
            for link in self.walkers.place_waiting(now):
                self._enqueue(link)
        return super().take(now, spare=spare)

    def next_ready(self) -> float | None:
        if self.walkers.has_ended(self.in_flight):
            return None
        times = (super().next_ready(), self.walkers.next_start)
        return min((time for time in times if time is not None), default=None)

    # -- done

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        # Without the block page it is not retried: the walker goes on elsewhere
        final = super().done(link, replace(outcome, blocked_by=""), now)
        if final:
            self._ended(link, outcome.status)
        return final

    def end_without_request(self, link: Link, now: float) -> None:
        super().end_without_request(link, now)
        self._ended(link, Status.OUT_OF_SCOPE)

    def _ended(self, link: Link, status: int, *, requested: bool = True) -> None:
        if not link.is_own:
            self._enqueue(self.walkers.leave(link, status, requested=requested))


@dataclass(frozen=True, slots=True)
class OpenedWalk:
    """What the spider `walk` brings to its crawl: a frontier with walkers, by these rules."""

    rules: WalkRules

    def factory(
        self,
        values: CheckedSettings,
        db: CrawlDB,
        outputs: Outputs,
        clock: CrawlClock,
        key: bytes,
    ) -> FrontierFactory:
        """Return what opens the frontier, with the walkers as of the last checkpoint.

        Raise Unfit if the settings do not fit a walk, and OtherTerms if the walk in the JOBDIR began
        with other rules.
        """
        need(values, NEEDS, "a random walk")
        data = db.get(META)
        before = WalkRules(*msgpack.unpackb(data)["rules"]) if data is not None else self.rules
        # With other rules the visits before and after would be of two different walks
        if str(before) != str(self.rules):
            raise OtherTerms(
                f"{db.folder.parent}: this walk began with {before}, but now has {self.rules}: "
                "change that back, or use another JOBDIR"
            )
        random = Random(f"walk {values['RANDOM_SEED']}")
        return partial(
            open_walk, Walkers(db, self.rules, random, key, outputs.open(LOG).write, clock)
        )


def open_walk(
    walkers: Walkers,
    db: CrawlDB,
    shape: Shape,
    rules: Rules,
    hooks: Hooks,
    *,
    random: Random,
    now: float = 0.0,
) -> Frontier:
    """Return the frontier of these walkers.

    It holds back no family of URLs: a walk comes to the same pages again and again.
    """
    kind = partial(WalkFrontier, walkers=walkers)
    return open_frontier(
        db, shape, replace(rules, folds=False), hooks, random=random, now=now, kind=kind
    )


MAX_WALKERS = 10_000
MAX_STEPS = 10**12  # of all walkers together
# A walk needs no archive, and the links of every page, each time. Nobody else is served while a
# walker waits at a host that is away: so it waits for a second attempt only, which comes soon, and
# then leaves the host alone for a day.
SETTINGS: dict[str, Any] = {
    "OUTPUTS": "",
    "FRONTIER_PRIORITIZER": BY_DEPTH,
    "CONTENT_SEEN": "process",
    "DOMAIN_BUDGET": UNLIMITED,
    "HOST_MAX_FAILURES": 2,
    "HOST_RETRY_WAIT": 15,
    "HOST_PATIENCE": 0,
}


class WalkSpider(WebSpider):
    """scrapy crawl walk -a seeds=SRC [-a walkers=N] [-a restart=P] [-a jump=hosts|seeds] [-a
    steps=N].

    The scope and the limit of seeds are as those of the spider `web`.
    """

    name = "walk"

    def __init__(
        self, walkers: str = "", restart: str = "", jump: str = "", steps: str = "", **kwargs: Any
    ) -> None:
        """Create the spider with its arguments. Raise RulesError if one is impossible."""
        arguments = {"walkers": walkers, "restart": restart, "jump": jump, "steps": steps}
        self.own_frontier = self.frontier_of({**kwargs, **arguments})
        super().__init__(**kwargs)

    @classmethod
    def frontier_of(cls, arguments: Mapping[str, str]) -> OpenedWalk:
        return OpenedWalk(walk_rules(arguments))

    @classmethod
    def needs_seeds(cls) -> bool:
        return cls.start is WalkSpider.start and not getattr(cls, "start_urls", None)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        settings.setdict(SETTINGS, priority="spider")
        super().update_settings(settings)


def walk_rules(arguments: Mapping[str, str]) -> WalkRules:
    """Return the rules of a walk with these arguments. Raise RulesError if one is impossible.

    An empty argument counts as missing.
    """
    given_arguments = {name: value for name, value in arguments.items() if value}
    if "since" in given_arguments:
        raise RulesError(
            f"-a since={given_arguments['since']}: is not possible with a walk, which fetches every page each time"
        )
    if given_arguments.get("follow") == "0":
        raise RulesError("-a follow=0: is not possible with a walk, which follows links")
    default = WalkRules()
    jump = given_arguments.get("jump", default.jump)
    if jump not in JUMPS:
        raise RulesError(f"-a jump={jump}: must be {' or '.join(JUMPS)}")
    walkers, restart, steps = default.walkers, default.restart, default.steps
    if "walkers" in given_arguments:
        walkers = _whole_argument("walkers", given_arguments["walkers"], MAX_WALKERS)
    if "restart" in given_arguments:
        restart = _restart_share(given_arguments["restart"])
    if "steps" in given_arguments:
        steps = _whole_argument("steps", given_arguments["steps"], MAX_STEPS)
    return WalkRules(walkers, restart, jump, steps)


def _whole_argument(name: str, text: str, most: int) -> int:
    if not is_whole(text, 1, most):
        raise RulesError(f"-a {name}={text}: must be a whole number from 1 to {most}")
    return int(text)


def _restart_share(text: str) -> float:
    try:
        part, _, whole = text.partition("/")
        share = float(part) / float(whole or 1)
    except (ValueError, ZeroDivisionError):
        share = -1.0
    if not 0 <= share <= 1:
        raise RulesError(f"-a restart={text}: must be a number from 0 to 1, e.g. 0.15 or 1/7")
    return share
