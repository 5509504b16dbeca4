"""Says when a page is fetched again: a class that REVISIT_POLICY names (policies.py, optimal.py)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from random import Random
from typing import Protocol

from webcrawl.base.model import Link
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.sample import Sample

logger = logging.getLogger(__name__)

POLICIES = {  # what REVISIT_POLICY may say instead of a dotted path
    "fixed": "webcrawl.crawl.revisit.policies.Fixed",
    "uniform": "webcrawl.crawl.revisit.policies.Uniform",
    "proportional": "webcrawl.crawl.revisit.policies.Proportional",
    "history": "webcrawl.crawl.revisit.policies.History",
    "optimal": "webcrawl.crawl.revisit.optimal.Optimal",
}
SMOOTH = 3600.0  # seconds over which the budget is averaged: a share of all fetches wavers with them
YEAR = 365 * 86_400.0  # the longest round: a budget of nothing may be one of something tomorrow
LEAST, MOST = 1e-6, 1e6  # of what somebody else's function says of the importance of a page


@dataclass(slots=True)
class PolicyOptions:
    """The arguments that a policy is constructed with."""

    age: float  # REVISIT_AGE, in seconds
    rate: Callable[[], float]  # revisits per second that the budget allows now
    pages: Callable[[], int]  # records, those under way included
    random: Random = field(default_factory=Random)
    sample: Sample = field(default_factory=Sample)  # of the pages
    _average: float = 0.0  # of the rate
    _averaged: float = 0.0  # when, seconds since 1970

    def round(self, now: float) -> float:
        """Return the seconds in which the budget, averaged over an hour, suffices for every page once."""
        rate = self.rate()
        passed = max(now - self._averaged, 0.0)
        self._average += (rate - self._average) * (min(passed / SMOOTH, 1.0) if self._average > 0 else 1.0)
        self._averaged = now
        pages = max(self.pages(), 1)
        return pages / self._average if self._average * YEAR > pages else YEAR


class Policy(Protocol):
    """The order in which pages are fetched again.

    Pages are taken in the order of their due times, at the rate of the budget: early if nothing is due, late if too
    much is. A due time is a place in this queue. It may lie in the past: then it goes before all that is due later.

    A policy may have a method `importance`: what a link is worth beside others. Only the ratio of two pages counts.

    A policy that changes its mind may have a `patience`, in rounds of all pages: about what is due later it is asked
    again in each round, without a fetch.
    """

    early: bool
    """True if a page may be taken before it is due, so that all of the budget is used."""

    def __init__(self, options: PolicyOptions) -> None: ...

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001 - the one thing observed
        """Take what a visit so long after the last one found; set `shape`, `span`, `visits` and `changes`.

        The first fetch of a page is no visit: there is nothing to compare it with.
        """

    def due(self, record: PageRecord, now: float, place: float) -> float:
        """Return the time, in seconds since 1970, to fetch again a page that was fetched just now; inf: never.

        `place`: the due time that the queue has come to. A policy that takes pages early counts from there, not from
        the clock: so pages keep their proportions while the queue is late, after a pause of a month too.
        """

    def state(self) -> bytes:
        """Return the state for a checkpoint; of its records the queue has everything."""

    def restore(self, data: bytes) -> None:
        """Go on from a state; one of another policy, or of nothing, is as good as a new beginning."""


def by_depth(link: Link) -> float:
    """Return 1 for a seed, a half for what it links to, a third one link further."""
    return 1.0 / (1 + link.depth)


class Weighed:
    """Whatever a function of somebody else's says, the weight of a page is a number above 0."""

    def __init__(self, importance: Callable[[Link], float]) -> None:
        self._importance = importance
        self._told = False

    def __call__(self, link: Link) -> float:
        try:
            weight = float(self._importance(link))
        except Exception:  # somebody else's code; a page must not be lost by it
            if not self._told:
                logger.exception("REVISIT_POLICY: %s counts as 1, and so do others that fail", link.url)
            self._told = True
            return 1.0
        return min(max(weight, LEAST), MOST) if isfinite(weight) else 1.0
