"""Opens the frontier of a crawl: ours, that of a random walk (docs/lab.md), or one that FRONTIER names.

Each of the others needs some settings to be as it can use them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import msgpack

from webcrawl.base.loading import load
from webcrawl.base.own_code import made_by
from webcrawl.crawl.checks.known_words import NONE
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.last_run import OURS, OtherTerms
from webcrawl.frontier.arguments import Hooks, Rules, Shape
from webcrawl.frontier.frontier import Frontier as OurFrontier
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.walk_frontier import WalkFrontier
from webcrawl.frontier.walkers import META, Walkers, WalkRules
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.meta_row import CLEAN
from webcrawl.store.outputs import Outputs

logger = logging.getLogger(__name__)

Needs = Mapping[str, tuple[object, str]]
"""By setting: its value, and what is said of any other."""

LOG = "logs/walk.log"
BY_DEPTH = "webcrawl.frontier.prioritizers.depth.ByDepth"  # as good as none: a walk has no depth
UNLIMITED = "webcrawl.frontier.allowances.unlimited.Unlimited"
OF_A_WALK: Needs = {
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

MIB = 1 << 20
OF_ANOTHER: Needs = {  # of another one than ours
    "HIVE_DRONES": (0, "0: its hosts do not move between drones"),
    "REVISIT_POLICY": (NONE, "none: it does not tell pages that are due again from new ones"),
    "HOST_CONNECTIONS": (None, "none: it asks a host for one URL at a time"),
    "POLITENESS_PER_IP": (False, "off: it does not know addresses"),
}
LACKS = "no levels, no budgets of domains, nothing set aside, no pardon after an outage, no commands on hosts"


class Unfit(StoreError):  # noqa: N818 - reads as what it is
    """A crawl of this kind cannot have these settings."""


def need(values: Mapping[str, Any], needs: Needs, kind: str) -> None:
    """Raises Unfit, in a line, for the first setting with another value."""
    for name, (needed, why) in needs.items():
        if (values[name] or None) != (needed or None):
            raise Unfit(f"{name} = {values[name]!r}: must be {why} ({kind})")


def open_walkers(
    values: Mapping[str, Any], db: CrawlDB, rules: WalkRules, outputs: Outputs, clock: CrawlClock, key: bytes
) -> Walkers:
    """The walkers as of the last checkpoint. Unfit or OtherTerms if they cannot walk, or go on, like this."""
    need(values, OF_A_WALK, "a random walk")
    data = db.get(META)
    before = WalkRules(*msgpack.unpackb(data)["rules"]) if data is not None else rules
    if str(before) != str(rules):
        raise OtherTerms(
            f"{db.folder.parent}: a walk with {before}, now {rules}: change it back, or use another JOBDIR"
        )
    return Walkers(db, rules, Random(f"walk {values['RANDOM_SEED']}"), key, outputs.open(LOG).write, clock)


def open_frontier(
    values: Mapping[str, Any],
    db: CrawlDB,
    rules: Rules,
    hooks: Hooks,
    clock: CrawlClock,
    walk: WalkRules | None,
    outputs: Outputs,
    key: bytes,
) -> Frontier:
    """The frontier as of the last checkpoint. Unfit, if another setting asks for what it does not do."""
    path, more = values["FRONTIER"], {}
    if walk is not None:
        more["kind"] = partial(WalkFrontier, walkers=open_walkers(values, db, walk, outputs, clock, key))
    if path != OURS:
        need(values, OF_ANOTHER, f"with FRONTIER = {path}")
    frontier: Frontier = made_by(
        load(path),
        "FRONTIER",
        path,
        Frontier,
        db,
        Shape(
            values["FRONTIER_LEVELS"],
            values["FRONTIER_BIAS"],
            values["FRONTIER_MEMORY"] * MIB,
            revisits=values["REVISIT_POLICY"] != NONE,
        ),
        rules,
        hooks,
        random=Random(values["RANDOM_SEED"]),
        now=0.0 if db.get(CLEAN) else clock(),
        **more,
    )
    if not isinstance(frontier, OurFrontier):
        logger.warning("FRONTIER = %s: %s", path, LACKS)
    return frontier
