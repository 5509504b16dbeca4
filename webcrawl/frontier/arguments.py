"""The arguments of a frontier, grouped by meaning, and the Protocols of what it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from webcrawl.base.model import Link, Packed
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.front_end import FrontEnd
from webcrawl.frontier.hosts import HostTable
from webcrawl.frontier.hosts_set_aside import Aside
from webcrawl.frontier.place_shares import Lines
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.prioritizers import Prioritizer
from webcrawl.frontier.retry_after_journal import Told

Decision = int | float | Link | None
"""None or 0: fetch it. Another int: it ends here with this Status. A float: not before that time.

A Link: fetch this one first (it is of the same host), then check the URL again.
"""


class OriginWait(float):
    """The time until which all URLs of one origin have to wait; others of its host need not."""

    __slots__ = ()


Heard = Callable[[str, Sequence[str]], None]
"""Gets a page, and the distinct canonical URLs that it links to."""


class Admission(Protocol):
    """Called for each URL right before it would be handed out."""

    def __call__(self, link: Link, now: float, /) -> Decision: ...


# With eight levels the last is served once in 255 times while all have URLs: it does not starve. What is best depends
# on the prioritizer and the web (`scrapy lab orderings` measures it on a graph): no operator knows it beforehand.
BIAS = 2.0


@dataclass(frozen=True, slots=True)
class Shape:
    """The front-end's levels, and the memory of the whole frontier."""

    levels: int  # FRONTIER_LEVELS
    bias: float  # each level is picked this many times as often as the next
    memory: int  # FRONTIER_MEMORY, in bytes
    revisits: bool = False  # whether URLs are fetched again


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by which URLs come out, and when."""

    prioritizer: Prioritizer
    politeness: Politeness
    limits: Limits
    domain: Callable[[str], str] = str  # the registered domain of a host; by default each is its own
    allowance: Allowance = field(default_factory=Unlimited)  # of pages per registered domain
    key: bytes = bytes(16)  # of the hashes of domains
    folds: bool = False  # URLs of families that make nothing new wait
    hears: Heard | None = None  # a prioritizer's `heard`, if it is to be called in another way
    requisites: bool = False  # embedded links are what pages need to be shown: many of them make up one page


@dataclass(frozen=True, slots=True)
class Hooks:
    """Optional collaborators of `take` and `done`."""

    admission: Admission | None = None  # the last check of each URL
    addresses: Addresses | None = None  # politeness per IP address
    dropped: Callable[[Link, int], None] | None = None  # called for each URL that ends without a download
    awaited: Callable[[], bool] | None = None  # whether links are on their way here that may be of known hosts


@dataclass(frozen=True, slots=True)
class Queues:
    """The places of URLs and hosts; all of it is saved with every checkpoint."""

    front: FrontEnd
    hosts: HostTable
    parked: Fifo  # names of hosts that gave way to others
    told: Told  # what hosts asked for since the last checkpoint
    aside: Aside  # names of hosts whose next turn is far away
    lines: Lines  # URLs and parked hosts of domains that have their share of the places
    budgets: Budgets  # URLs of domains that have had their pages

    def others_wait(self, now: float) -> bool:
        """True if there are URLs outside the back-end, other than those of domains that have their share."""
        heads = self.aside.heads
        waiting = self.front.filled or self.parked.count or self.budgets.listed
        return bool(waiting) or (bool(heads) and heads[0][0] <= now)


@dataclass(slots=True)
class Gate:
    """The frontier has none as long as all hosts are its own, so that a crawl without a hive pays one test for it."""

    foreign: Callable[[str], bool]  # whether a host is not ours: it leaves, has left, or is yet to come
    turn_away: Callable[[Packed, bool], None]  # a queued URL of such a host; whether its domain was charged for it
    pass_on: Callable[[Packed], None]  # a URL of such a host that was not queued
    asked: set[str] = field(default_factory=set)  # such hosts with a request in flight


def both(first: Heard | None, second: Heard | None) -> Heard | None:
    """Both of them hear, or the one that there is."""
    if first is None or second is None:
        return first or second

    def heard(page: str, links: Sequence[str]) -> None:
        first(page, links)
        second(page, links)

    return heard
