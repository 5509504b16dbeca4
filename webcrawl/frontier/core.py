"""The arguments of a frontier, and what all of its parts share.

The arguments are grouped by meaning, with the Protocols of what a frontier calls. The `Core` made
of them says where the hosts are, by which rules they are requested, how many URLs there are, and
what the last failures did.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from webcrawl.base.model import Link, Outcome, Packed, Status
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.back_end import BackEnd, FetchSlots
from webcrawl.frontier.booking import Booking, Limits, Retry
from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.deferred_hosts import DeferredHostQueue, DeferredHosts
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.front_end import FrontEnd
from webcrawl.frontier.host_origins import Origins
from webcrawl.frontier.host_rows import RetryAfterJournal
from webcrawl.frontier.hosts import Host, HostTable
from webcrawl.frontier.outcomes import is_kept_short, is_truncated
from webcrawl.frontier.place_shares import GroupQueues
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.prioritizers import Prioritizer
from webcrawl.store.jobdir.host_row import FailedRow

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


# With eight levels the last is served once in 255 times while all have URLs: it does not starve.
# What is best depends on the prioritizer and the web (`webcrawl lab orderings` measures it on a
# graph): no operator knows it beforehand.
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
    # the registered domain of a host; by default each is its own
    domain: Callable[[str], str] = str
    allowance: Allowance = field(default_factory=Unlimited)  # of pages per registered domain
    key: bytes = bytes(16)  # of the hashes of domains
    folds: bool = False  # URLs of families that make nothing new wait
    hears: Heard | None = None  # a prioritizer's `heard`, if it is to be called in another way
    # embedded links are what pages need to be shown: many of them make up one page
    requisites: bool = False


@dataclass(frozen=True, slots=True)
class Hooks:
    """Optional collaborators of `take` and `done`."""

    admission: Admission | None = None  # the last check of each URL
    addresses: Addresses | None = None  # politeness per IP address
    # called for each URL that ends without a download
    dropped: Callable[[Link, int], None] | None = None
    # whether links are on their way here that may be of known hosts
    awaited: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class Queues:
    """The places of URLs and hosts; all of it is saved with every checkpoint."""

    front: FrontEnd
    hosts: HostTable
    parked: Fifo  # names of hosts that gave way to others
    told: RetryAfterJournal  # what hosts asked for since the last checkpoint
    deferred: DeferredHostQueue  # names of hosts whose next turn is far away
    lines: GroupQueues  # URLs and parked hosts of domains that have their share of the places
    budgets: Budgets  # URLs of domains that have had their pages

    def others_wait(self, now: float) -> bool:
        """Return whether there are URLs outside the back-end, other than those of domains that have
        their share.
        """
        heads = self.deferred.heads
        waiting = self.front.filled or self.parked.count or self.budgets.listed
        return bool(waiting) or (bool(heads) and heads[0][0] <= now)


@dataclass(slots=True)
class Gate:
    """What becomes of hosts that belong to another crawl of the hive, and of their URLs.

    Such a host is *foreign*. The frontier has no gate as long as all hosts are its own, so that a
    crawl without a hive pays one test for it.
    """

    # whether a host is not ours: it leaves, has left, or is yet to come
    foreign: Callable[[str], bool]
    # takes a queued URL of such a host, and whether its domain was charged for it
    turn_away: Callable[[Packed, bool], None]
    pass_on: Callable[[Packed], None]  # a URL of such a host that was not queued
    requested: set[str] = field(default_factory=set)  # such hosts with a request in flight


def both(first: Heard | None, second: Heard | None) -> Heard | None:
    """Return a function that calls both; the only one if the other is None, or None."""
    if first is None or second is None:
        return first or second

    def call_both(page: str, links: Sequence[str]) -> None:
        first(page, links)
        second(page, links)

    return call_both


# The counter of URLs that have ended with a body that is not whole. Crawls have its name in their
# states.
TRUNCATED_PAGES = "cut short"
NO_FAILURES = -1  # as many as no host has: the record of one that has answered is not restored
MAX_CHARGES = 4096  # 1 KB each at the most


@dataclass(slots=True)
class Charge:
    """A failure that a host was charged with, and all that is needed to take it back.

    It is noted before the failure is booked, and completed by `booked`. It is taken back if our own
    network was to blame (outage_pardon.py).
    """

    at: float
    host: str  # its name
    link: Link
    # the record before: ready_at, failures, retired, failed
    before: tuple[float, int, int, FailedRow | None]
    times: list[float]  # and the seconds of its last downloads
    failures: int = 0  # of the host, once it is booked
    again: Retry | None = None  # None: the link was finished
    short: bool = False  # it ended with a body that is not whole, and is counted so

    def booked(self, host: Host, outcome: Outcome, again: Retry | None) -> None:
        """Note what booking the failure has made of the record (`host`) and of the link.

        A host that has answered, even if not to the end, keeps its record.
        """
        self.failures = NO_FAILURES if is_truncated(outcome) else host.failures
        self.again = again
        self.short = again is None and is_kept_short(self.link, outcome)

    def undo(self, host: Host) -> None:
        """Restore the host's record, unless more has happened to it, be it by command."""
        if host.failures == self.failures and host.retired != Status.DROPPED:
            host.ready_at, host.failures, host.retired, host.failed = self.before
            host.times[:] = self.times

    @property
    def retry(self) -> tuple[float, Packed] | None:
        """The entry among the host's retries; None if the link was finished."""
        if self.again is None:
            return None
        at, link = self.again
        return at, link.pack()


class Charges:
    """The last failures, in the order in which they were booked."""

    def __init__(self) -> None:
        self._kept: deque[Charge] = deque(maxlen=MAX_CHARGES)

    def note(self, host: Host, link: Link, now: float) -> Charge:
        """Note a failure that is about to be booked."""
        before = (host.ready_at, host.failures, host.retired, host.failed)
        charge = Charge(now, host.name, link, before, [*host.times])
        self._kept.append(charge)
        return charge

    def pop_since(self, since: float) -> Iterator[Charge]:
        """Remove and yield the charges of this time and later, the last one first.

        So the record that is restored last is that before a host's first failure.
        """
        while self._kept and self._kept[-1].at >= since:
            yield self._kept.pop()


class Core:
    """The kernel: every part is made with it, and with those other parts that it calls."""

    def __init__(self, queues: Queues, rules: Rules, hooks: Hooks, resumed: float) -> None:
        """`resumed`: requests from the last checkpoint until then are unknown, so that every host
        waits its turn. 0: there are none.
        """
        self.queues = queues
        self.hosts = queues.hosts
        self.back = BackEnd(FetchSlots(rules.limits.fetchers, hooks.awaited))
        self.deferred = DeferredHosts(queues.deferred, rules.limits.host_failures)
        self.book = Booking(rules.politeness, rules.limits)
        self.origins = Origins(queues.hosts, self.book)
        self.addresses = hooks.addresses
        self.admission = hooks.admission
        self.resumed = resumed
        self.charges = Charges()
        self.gate: Gate | None = None
        self.width = rules.limits.queues  # the current n (rotation.py)
        self.queued = 0  # URLs that wait, wherever they are
        self.in_flight = 0  # URLs that are handed out
        self.counters: Counter[str] = Counter()
        # Are told of each URL that ends without a download. Few URLs do, so a list may serve here:
        # on each page's way a part that takes part costs one more call.
        self.dropped: list[Callable[[Link, int], None]] = []

    def is_foreign(self, name: str) -> bool:
        """Return whether the host belongs to another crawl of the hive."""
        return self.gate is not None and self.gate.foreign(name)

    def drop(self, link: Link, status: int) -> None:
        """End a URL that is not requested, and that has left its queue."""
        if not link.is_own:  # neither a robots.txt nor a probe is one of the crawl's URLs
            self.counters[f"dropped/{status}"] += 1
        for tell in self.dropped:
            tell(link, status)

    def dismiss(self, leaves: Callable[[str], bool]) -> None:
        """Let these hosts wait no more for their addresses, which would schedule them once more."""
        for host in self.addresses.dismiss(leaves) if self.addresses is not None else ():
            self.back.schedule(host, host.due())

    def open(self, name: str) -> tuple[Host, bool]:
        """Return the record of a host, and whether it is active.

        The caller holds the record of a host that is not, until it calls `close`.
        """
        host = self.back.active.get(name)
        return (self.hosts.get(name), False) if host is None else (host, True)

    def close(self, host: Host, *, active: bool) -> None:
        """End the use of a record that `open` returned with this `active`."""
        if not active:
            self.hosts.put_away(host)

    @contextmanager
    def opened(self, name: str) -> Iterator[Host]:
        """Yield the record of a host, active or not.

        After the block, the record of one that is not may leave memory.
        """
        host, active = self.open(name)
        try:
            yield host
        finally:
            self.close(host, active=active)
