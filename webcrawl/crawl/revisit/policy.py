"""Says when a page is fetched again: one small class per file of policies/, chosen by REVISIT_POLICY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from webcrawl.crawl.revisit.record import PageRecord

POLICIES = {  # what REVISIT_POLICY may say instead of a dotted path
    "fixed": "webcrawl.crawl.revisit.policies.fixed.Fixed",
    "uniform": "webcrawl.crawl.revisit.policies.uniform.Uniform",
    "proportional": "webcrawl.crawl.revisit.policies.proportional.Proportional",
    "history": "webcrawl.crawl.revisit.policies.history.History",
    "optimal": "webcrawl.crawl.revisit.policies.optimal.Optimal",
}


@dataclass(slots=True)
class PolicyOptions:
    """The arguments that a policy is constructed with."""

    age: float  # REVISIT_AGE, in seconds
    rate: Callable[[], float]  # revisits per second that the budget allows now
    pages: Callable[[], int]  # records, those under way included
    random: Random = field(default_factory=Random)


class Policy(Protocol):
    """The order in which pages are fetched again.

    Pages are taken in the order of their due times, at the rate of the budget: early if nothing is due, late if too
    much is. A due time is a place in this queue. It may lie in the past: then it goes before all that is due later.

    A policy may have a method `importance` (revisit/importance.py): what a link is worth beside others.

    A policy that changes its mind may have a `patience`, in rounds of all pages: about what is due later it is asked
    again in each round, without a fetch.
    """

    early: bool
    """True if a page may be taken before it is due, so that all of the budget is used."""

    def __init__(self, options: PolicyOptions) -> None: ...

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001 - the one thing observed
        """Takes what a visit so long after the last one found; sets `shape`, `span`, `visits` and `changes`.

        The first fetch of a page is no visit: there is nothing to compare it with.
        """

    def due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        """The time, in seconds since 1970, to fetch again a page that was fetched just now; inf: never.

        `missed`: the share of its changes that no signal announces.
        """

    def worth(self, weight: float, gap: float | None, now: float) -> bool:
        """Return whether to fetch a page at a signal that it has changed, out of the budget; it is, if this says so.

        `gap`: the seconds between its last signals, on average; None: this is the first that is known of.
        """

    def took(self, record: PageRecord, now: float, due: float) -> None:
        """The page that was due then is taken now, early or late."""

    def spared(self, part: float) -> None:
        """A page needs no fetch in its turn: the record has taken over what a fetch at a signal had found.

        `part`: of its time until it would have been due, what had passed by then.
        """

    def state(self) -> bytes:
        """The state for a checkpoint; of its records the buckets have everything."""

    def restore(self, data: bytes) -> None:
        """Goes on from a state; one of another policy, or of nothing, is as good as a new beginning."""
