"""Which frontier a crawl has: ours, that of a random walk, or one that FRONTIER names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.crawl import CLEAN
from webcrawl.crawl.needs import Needs, need
from webcrawl.crawl.open_revisits import NONE
from webcrawl.crawl.terms import OURS
from webcrawl.crawl.walking import open_walkers
from webcrawl.frontier.parts import Hooks, Rules, Shape
from webcrawl.frontier.protocol import Frontier, FrontierFactory
from webcrawl.frontier.walk import WalkFrontier
from webcrawl.frontier.walkers import WalkRules
from webcrawl.loading import load
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

logger = logging.getLogger(__name__)

MIB = 1 << 20
NEEDS: Needs = {  # of another one than ours
    "HIVE_DRONES": (0, "0: its hosts do not move between drones"),
    "REVISIT_POLICY": (NONE, "none: it does not tell pages that are due again from new ones"),
    "HOST_CONNECTIONS": (None, "none: it asks a host for one URL at a time"),
    "POLITENESS_PER_IP": (False, "off: it does not know addresses"),
}
LACKS = "no levels, no budgets of domains, nothing set aside, no pardon after an outage, no commands on hosts"


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
        need(values, NEEDS, f"with FRONTIER = {path}")
        logger.warning("FRONTIER = %s: %s", path, LACKS)
    factory: FrontierFactory = load(path)
    return factory(
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
