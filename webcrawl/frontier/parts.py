"""The arguments of a frontier, grouped by meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.admission import Admission
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.aside import Aside
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.domains import Lines
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.front import FrontEnd
from webcrawl.frontier.hosts import HostTable
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.prioritizers import Prioritizer
from webcrawl.frontier.told import Told
from webcrawl.model import Link


@dataclass(frozen=True, slots=True)
class Shape:
    """The front-end's levels, and the memory of the whole frontier."""

    levels: int  # FRONTIER_LEVELS
    bias: float  # FRONTIER_BIAS: each level is picked this many times as often as the next
    memory: int  # FRONTIER_MEMORY, in bytes
    revisits: bool = False  # whether URLs are fetched again


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides in which order URLs come out, and when."""

    prioritizer: Prioritizer
    politeness: Politeness
    limits: Limits
    domain: Callable[[str], str] = str  # the registered domain of a host; by default each is its own
    allowance: Allowance = field(default_factory=Unlimited)  # of pages per registered domain
    key: bytes = bytes(16)  # of the hashes of domains
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
    """Where URLs and hosts are kept; all of it is saved with every checkpoint."""

    front: FrontEnd
    hosts: HostTable
    parked: Fifo  # names of hosts that gave way to others
    told: Told  # what hosts asked for since the last checkpoint
    aside: Aside  # names of hosts whose next turn is far away
    lines: Lines  # URLs and parked hosts of domains that have their share of the places
    budgets: Budgets  # URLs of domains that have had their pages
