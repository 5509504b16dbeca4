"""The synthetic web: a web on loopback whose every page and answer is known in advance (docs/simweb.md)."""

from __future__ import annotations

from webcrawl.simweb.checks import (
    by_address,
    by_host,
    gaps,
    mercator,
    overlaps,
    robots_first,
    too_early,
    trap_hits,
    zoo_hits,
)
from webcrawl.simweb.living import changing
from webcrawl.simweb.log import Hit, Log, read
from webcrawl.simweb.mix import even, hostile
from webcrawl.simweb.outages import Board, Outage
from webcrawl.simweb.running import running, wait_until_idle
from webcrawl.simweb.server import Server
from webcrawl.simweb.truth import Truth, truth
from webcrawl.simweb.world import World
from webcrawl.simweb.zoo import ZOO

__all__ = [
    "ZOO",
    "Board",
    "Hit",
    "Log",
    "Outage",
    "Server",
    "Truth",
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
