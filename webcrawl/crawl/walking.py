"""Where the settings of a random walk become the walkers of its frontier (docs/walks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import msgpack

from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.needs import Needs, need
from webcrawl.crawl.terms import OURS, OtherTerms
from webcrawl.frontier.walkers import META, Walkers, WalkRules
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


def open_walkers(
    values: Mapping[str, Any], db: CrawlDB, rules: WalkRules, outputs: Outputs, clock: CrawlClock, key: bytes
) -> Walkers:
    """The walkers as of the last checkpoint. Unfit or OtherTerms if they cannot walk, or go on, like this."""
    need(values, NEEDS, "a random walk")
    data = db.get(META)
    before = WalkRules(*msgpack.unpackb(data)["rules"]) if data is not None else rules
    if str(before) != str(rules):
        raise OtherTerms(
            f"{db.folder.parent}: a walk with {before}, now {rules}: change it back, or use another JOBDIR"
        )
    return Walkers(db, rules, Random(f"walk {values['RANDOM_SEED']}"), key, outputs.open(LOG).write, clock)
