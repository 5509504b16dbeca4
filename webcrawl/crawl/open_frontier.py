"""Opens the frontier of a crawl, and the stores that say which URLs and bodies were seen before.

The frontier is the one that FRONTIER names, or the spider's own. All but ours need some settings to
be as they can use them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack, closing
from random import Random

from webcrawl.base.loading import load
from webcrawl.base.own_code import made, made_by
from webcrawl.base.settings.checked_settings import CheckedSettings, value_of
from webcrawl.crawl.checks.names import NONE
from webcrawl.crawl.ground import Ground
from webcrawl.crawl.last_run import OURS
from webcrawl.frontier.core import BIAS, Hooks, Rules, Shape
from webcrawl.frontier.frontier import Frontier as OurFrontier
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.protocol import SeenStore, cache_size, shares
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.meta_row import CLEAN

logger = logging.getLogger(__name__)

Needs = Mapping[str, tuple[object, str]]
"""By setting: its value, and what is said of any other."""

MIB = 1 << 20
OF_ANOTHER: Needs = {  # what a frontier other than ours needs
    "HIVE_DRONES": (0, "0, because this frontier's hosts cannot move between drones"),
    "REVISIT_POLICY": (
        NONE,
        "none, because this frontier does not tell pages that are due again from new ones",
    ),
    "HOST_CONNECTIONS": (None, "none, because this frontier requests one URL of a host at a time"),
    "POLITENESS_PER_IP": (False, "off, because this frontier does not know addresses"),
}
# what such a frontier has not, for the log
LACKS = (
    "it has no levels and no budgets of domains, defers no host, pardons no outage, "
    "and takes no commands for hosts"
)


class Unfit(StoreError):  # noqa: N818 - reads as what it is
    """A crawl of this kind cannot have these settings."""


def need(values: CheckedSettings, needs: Needs, kind: str) -> None:
    """Raise Unfit, in a line, for the first setting with another value than this kind needs."""
    for name, (needed, why) in needs.items():
        value = value_of(values, name)
        # 0, False and None are all "off".
        if (value or None) != (needed or None):
            raise Unfit(f"{name} = {value!r}: must be {why} ({kind})")


def open_frontier(ground: Ground, rules: Rules, hooks: Hooks) -> Frontier:
    """Return the frontier as of the last checkpoint; raise Unfit if a setting does not fit."""
    values, db, own = ground.values, ground.db, ground.around.frontier
    path = values["FRONTIER"]
    if path != OURS:
        need(values, OF_ANOTHER, f"with FRONTIER = {path}")
    frontier: Frontier = made_by(
        load(path)
        if own is None
        else own.factory(values, db, ground.outputs, ground.clock, ground.key),
        "FRONTIER",
        path,
        Frontier,
        db,
        Shape(
            values["FRONTIER_LEVELS"],
            BIAS,
            values["FRONTIER_MEMORY"] * MIB,
            revisits=values["REVISIT_POLICY"] != NONE,
        ),
        rules,
        hooks,
        random=Random(values["RANDOM_SEED"]),
        now=0.0 if db.get(CLEAN) else ground.clock(),
    )
    if not isinstance(frontier, OurFrontier):
        logger.warning("FRONTIER = %s: %s", path, LACKS)
    return frontier


def open_seen(ground: Ground, opened: ExitStack) -> tuple[SeenStore, ContentSeen]:
    """Return the stores of URLs and bodies that were seen. `opened` closes them."""
    values, db = ground.values, ground.db
    whole = values["SEEN_MEMORY"] * MIB
    memory, content_memory = shares(whole)
    cache: UrlCache = made("URL_CACHE", values["URL_CACHE"], UrlCache, cache_size(whole))
    more = {"memory": memory, "cache": cache, "on_ready": ground.around.on_ready}
    seen: SeenStore = made("SEEN_STORE", values["SEEN_STORE"], SeenStore, db, **more)
    opened.callback(seen.close)
    return seen, opened.enter_context(closing(ContentSeen(db, memory=content_memory)))
