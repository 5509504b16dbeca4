"""Where the settings of a random walk become the walkers of its frontier (docs/walks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import msgpack

from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.terms import OtherTerms
from webcrawl.frontier.walkers import META, Walkers, WalkRules
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.outputs import Outputs

LOG = "logs/walk.log"
UNLIMITED = "webcrawl.frontier.allowances.unlimited.Unlimited"
NEEDED: dict[str, tuple[object, str]] = {
    "HIVE_DRONES": (0, "0: drones divide URLs among them, and a walk goes wherever links lead"),
    "REVISIT_POLICY": ("none", "none: a walk comes back by itself"),
    "REQUISITES": (False, "off: a walk follows links"),
    "SITEMAPS": (None, "off: a sitemap is no link of a page"),
    "CONTENT_SEEN": ("process", "process: walks need the links of every page"),
    "DOMAIN_BUDGET": (UNLIMITED, "Unlimited: what is fetched again has nothing new, and would use up any budget"),
}


class NoWalk(StoreError):  # noqa: N818 - reads as what it is
    """A crawl with these settings cannot be a walk."""


def open_walkers(
    values: Mapping[str, Any], db: CrawlDB, rules: WalkRules, outputs: Outputs, clock: CrawlClock, key: bytes
) -> Walkers:
    """The walkers as of the last checkpoint. NoWalk or OtherTerms if they cannot walk, or go on, like this."""
    for name, (needed, why) in NEEDED.items():
        if (values[name] or None) != (needed or None):
            raise NoWalk(f"{name} = {values[name]!r}: must be {why} (a random walk)")
    data = db.get(META)
    before = WalkRules(*msgpack.unpackb(data)["rules"]) if data is not None else rules
    if str(before) != str(rules):
        raise OtherTerms(
            f"{db.folder.parent}: a walk with {before}, now {rules}: change it back, or use another JOBDIR"
        )
    return Walkers(db, rules, Random(f"walk {values['RANDOM_SEED']}"), key, outputs.open(LOG).write, clock)
