"""Says when a page is fetched again: a class that REVISIT_POLICY names.

Here are what a policy is, what it is constructed with, and the policies that are one rule: every
page alike, or by a share that its visits have shown. The one that finds the optimum is in
optimal.py.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp, isfinite, log
from random import Random
from struct import Struct
from typing import Protocol

from webcrawl.base.model import Link
from webcrawl.crawl.revisit.change_rate import Sample, Visited, observe
from webcrawl.crawl.revisit.record import PageRecord

logger = logging.getLogger(__name__)

POLICIES = {  # what REVISIT_POLICY may say instead of a dotted path
    "fixed": "webcrawl.crawl.revisit.policies.Fixed",
    "uniform": "webcrawl.crawl.revisit.policies.Uniform",
    "proportional": "webcrawl.crawl.revisit.policies.Proportional",
    "history": "webcrawl.crawl.revisit.policies.History",
    "optimal": "webcrawl.crawl.revisit.optimal.Optimal",
}
# seconds over which the budget is averaged: as a share of all fetches it wavers with these
SMOOTH = 3600.0
YEAR = 365 * 86_400.0  # the longest round: a budget of nothing may be one of something tomorrow
# of what somebody else's function says of the importance of a page
MIN_WEIGHT, MAX_WEIGHT = 1e-6, 1e6


@dataclass(slots=True)
class PolicyOptions:
    """The arguments that a policy is constructed with."""

    age: float  # REVISIT_AGE, in seconds
    rate: Callable[[], float]  # revisits per second that the budget allows now
    pages: Callable[[], int]  # records, those under way included
    random: Random = field(default_factory=Random)
    sample: Sample = field(default_factory=Sample)  # of the pages
    _average: float = 0.0  # of the rate over the last SMOOTH seconds; 0: no rate was seen yet
    _averaged_at: float = 0.0  # seconds since 1970

    def round(self, now: float) -> float:
        """Return the seconds in which the budget of an average hour suffices for every page."""
        rate = self.rate()
        passed = max(now - self._averaged_at, 0.0)
        # how much the rate of now counts against the average so far: all if there is none
        part = min(passed / SMOOTH, 1.0) if self._average > 0 else 1.0
        self._average += (rate - self._average) * part
        self._averaged_at = now
        pages = max(self.pages(), 1)
        return pages / self._average if self._average * YEAR > pages else YEAR


class Policy(Protocol):
    """The order in which pages are fetched again.

    Pages are taken in the order of their due times, at the rate of the budget: early if nothing is
    due, late if too much is. A due time is a place in this queue. It may lie in the past: then it
    goes before all that is due later.

    A policy may have a method `importance`: what a link is worth beside others. Only the ratio of
    two pages counts.

    A policy may have a method `declines`: whether the page of this URL is left to its turn though a
    signal names it.

    A policy that changes its mind may have a `patience`, in rounds of all pages: about what is due
    later it is asked again in each round, without a fetch.
    """

    early: bool
    """True if a page may be taken before it is due, so that all of the budget is used."""

    def __init__(self, options: PolicyOptions) -> None: ...

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001 - the one thing observed
        """Take the findings of a visit so long after the last one; set shape, span and counts.

        The first fetch of a page is no visit: there is nothing to compare it with.
        """

    def due(self, record: PageRecord, now: float, place: float) -> float:
        """Return when to fetch a page again that was fetched just now; inf: never.

        The time is in seconds since 1970.

        `place`: the due time that the queue has come to. A policy that takes pages early counts
        from there, not from the clock: so pages keep their proportions while the queue is late,
        after a pause of a month too.
        """

    def state(self) -> bytes:
        """Return the policy's own state for a checkpoint. The queue keeps what concerns the records."""

    def restore(self, data: bytes) -> None:
        """Go on from a state; one of another policy, or of nothing, is as good as a new beginning."""


def by_depth(link: Link) -> float:
    """Return 1 for a seed, a half for what it links to, a third one link further."""
    return 1.0 / (1 + link.depth)


class Weighed:
    """Whatever a function of somebody else's says, the weight of a page is a number above 0."""

    def __init__(self, importance: Callable[[Link], float]) -> None:
        self._importance = importance
        self._has_logged = False  # whether a failure was logged

    def __call__(self, link: Link) -> float:
        """Return the importance of a page within bounds; 1 if the user's function fails."""
        try:
            weight = float(self._importance(link))
        except Exception:  # somebody else's code; a page must not be lost by it
            if not self._has_logged:
                logger.exception(
                    "REVISIT_POLICY: the importance of %s could not be computed, so it counts as "
                    "1; further failures are not logged",
                    link.url,
                )
            self._has_logged = True
            return 1.0
        return min(max(weight, MIN_WEIGHT), MAX_WEIGHT) if isfinite(weight) else 1.0


# rounds after which even a page that is not worth a visit gets one: it may have become another
FARTHEST = 40.0
# times that the level is set in each round; fewer if that is more often than once per sampled page
LEVELS_PER_ROUND = 20
# ln: by how much less than the budget the level aims at while the queue is a round late
PULL = 0.2
DRIFT = 0.02  # ln: by how much each round that it is a round late corrects the sample for good
# rounds: a queue that is later counts as if it were so late, after a pause of a month say
MAX_LATENESS = 0.5
MAX_CORRECTION = log(3.0)  # ln: the sample's error is believed to be at most threefold
# ln of the level, at once: the number of pages may have grown a hundredfold since the last time
MAX_STEP = 8.0
PAGES_FOR_STEP = 64  # pages by which the next level is found
HALVINGS = 10  # halvings of the interval in which it is found
SHORTEST_INTERVAL = 1.0  # seconds between two visits
_STATE = Struct("<2d")


class Fixed:
    """Every page REVISIT_AGE seconds after its last fetch.

    None is early; one that is late because the budget is too small waits for its turn.
    """

    early = False

    def __init__(self, options: PolicyOptions) -> None:
        self.options = options

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001
        observe(record, seconds, self.options.sample.prior, changed=changed)

    def due(self, record: PageRecord, now: float, place: float) -> float:
        del record, place
        return now + self.options.age

    def state(self) -> bytes:
        return b""

    def restore(self, data: bytes) -> None: ...


class Uniform(Fixed):
    """A page goes to the end of the queue: all pages have the same share.

    It does not matter how often a page changes, or what it is worth.
    """

    early = True

    def due(self, record: PageRecord, now: float, place: float) -> float:
        del record
        return place + self.options.round(now)


class Steered(Fixed, ABC):
    """Base of policies that find each page's interval by one number, the level.

    The level is the same for all pages: a higher one means longer intervals, and fewer visits.

    The level is such that the pages of the sample are visited once per round on average: then
    visits just fill the budget. What error remains shows in the queue, which becomes later and
    later or earlier and earlier, and is corrected slowly.
    """

    early = True
    patience = 4.0  # rounds; the level falls while pages become known

    def __init__(self, options: PolicyOptions) -> None:
        super().__init__(options)
        self.level = 1.0
        self.extra = 0.0  # visits since the level was set that no interval asks for
        # ln of how many times the visits of the budget are aimed at, learned from the queue
        self._correction = 0.0
        self._farthest = YEAR  # seconds: the longest interval, of a page that is not worth a visit
        self._calls = 0  # since the level was set
        self._pause = 1  # calls until it is set again

    @abstractmethod
    def interval(self, page: Visited, level: float) -> float:
        """Return the seconds between two visits of a page, which grow with the level."""

    def due(self, record: PageRecord, now: float, place: float) -> float:
        self._calls += 1
        if self._calls >= self._pause:
            self._steer(now, place)
        return place + self._bounded(record, self.level)

    def _bounded(self, page: Visited, level: float) -> float:
        """Return the interval of a page at this level, within what is possible and worth waiting for."""
        return min(max(self.interval(page, level), SHORTEST_INTERVAL), self._farthest)

    def _steer(self, now: float, place: float) -> None:
        """Set the level by what the pages of the sample are known for by now."""
        pages = [*self.options.sample]
        if not pages:
            return
        self.options.sample.prior.fit(pages)
        seconds = self.options.round(now)
        self._farthest = FARTHEST * seconds
        # how many rounds the queue is behind the clock; negative if it is ahead
        late = max(min((now - place) / seconds, MAX_LATENESS), -MAX_LATENESS)
        # At the bound something else is the reason, a pause for instance: nothing is learned.
        if abs(late) < MAX_LATENESS:
            passed = self._calls / max(self.options.pages(), 1)  # rounds
            correction = self._correction - DRIFT * passed * late
            self._correction = max(min(correction, MAX_CORRECTION), -MAX_CORRECTION)
        # Visits per page and round. The level is fed forward from the sample, and what error
        # remains is corrected slowly: gains ten times as large made it swing for tens of rounds
        # (0.95 of the optimum in place of 0.998, with known rates).
        wanted = exp(self._correction - PULL * late) - self.extra / self._calls
        # What the level of now leads to.
        found = sum(seconds / self._bounded(page, self.level) for page in pages) / len(pages)
        self.level *= exp(self._step(pages, found / max(wanted, 0.1)))
        self._pause = max(self.options.pages() // LEVELS_PER_ROUND, len(pages))
        self._calls = 0
        self.extra = 0.0

    def _step(self, pages: list[Visited], excess: float) -> float:
        """Return by how much ln of the level has to change for `excess` times fewer visits.

        How visits follow the level is learned from a few pages: as its root while intervals are
        short, and much faster where they are long.
        """
        some = pages[:: max(len(pages) // PAGES_FOR_STEP, 1)]

        def visits(step: float) -> float:
            """Return the visits of these pages per second if ln of the level changes by `step`."""
            level = self.level * exp(step)
            return sum(1 / max(self.interval(page, level), SHORTEST_INTERVAL) for page in some)

        wanted = visits(0.0) / excess
        # By halving the interval: the higher the level, the fewer the visits.
        low, high = -MAX_STEP, MAX_STEP
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if visits(middle) > wanted:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def state(self) -> bytes:
        return _STATE.pack(self.level, self._correction)

    def restore(self, data: bytes) -> None:
        if len(data) == _STATE.size:
            self.level, self._correction = _STATE.unpack(data)


class Proportional(Steered):
    """Each page once per so many of its changes, the same number for all.

    It looks fair, and spends the budget on pages that are stale again at once.
    """

    def interval(self, page: Visited, level: float) -> float:
        shape, span = self.options.sample.prior.given(page)
        return level * span / shape


class History(Steered):
    """The priority of a page is the share of its visits that found it changed.

    Twice as much means twice as often.

    "The priority of documents that do not change from one download to the next decreases over time,
    thereby causing them to be downloaded less frequently than documents that change often", by a
    "randomized priority-based scheme" (Najork and Heydon 2001, section 3.1). A page of which
    nothing is known counts as changed on one visit of two.
    """

    def interval(self, page: Visited, level: float) -> float:
        return level * (page.visits + 2) / (page.changes + 1)

    def due(self, record: PageRecord, now: float, place: float) -> float:
        wait = super().due(record, now, place) - place
        return place + wait * (0.5 + self.options.random.random())
