"""The synthetic web: a web on loopback whose every page and answer is known in advance
(docs/testing.md).
"""

from __future__ import annotations

from webcrawl.lab.simweb.mix import changing, even, hostile
from webcrawl.lab.simweb.request_log import (
    Hit,
    Log,
    by_address,
    by_host,
    gaps,
    mercator,
    overlaps,
    read,
    robots_first,
    too_early,
    trap_hits,
    zoo_hits,
)
from webcrawl.lab.simweb.truth import truth
from webcrawl.lab.simweb.web_server import running, wait_until_idle
from webcrawl.lab.simweb.world import World
from webcrawl.lab.simweb.zoo import ZOO

__all__ = [
    "ZOO",
    "Hit",
    "Log",
    "World",
    "by_address",
    "by_host",
    "changing",
    "even",
    "gaps",
    "hostile",
    "mercator",
    "overlaps",
    "read",
    "robots_first",
    "running",
    "too_early",
    "trap_hits",
    "truth",
    "wait_until_idle",
    "zoo_hits",
]
