"""Policies that are one rule: every page alike, or by a share that its visits have shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import exp, log
from struct import Struct

from webcrawl.crawl.revisit.change_rate import Visited, observe
from webcrawl.crawl.revisit.policy import YEAR, PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord

FARTHEST = 40.0  # rounds after which even a page that is not worth a visit gets one: it may have become another
PASSES = 20  # times that the level is set per round of all pages, if there are so many
PULL = 0.2  # a queue that is a round late: the level aims at so much less than the budget, as a power of e
DRIFT = 0.02  # and each round that it is late corrects the sample by so much
BOUND = 0.5  # rounds: a queue that is later counts as if it were so late, after a pause of a month say
WRONG = log(3.0)  # the sample's error is believed to be at most threefold
STEP = 8.0  # ln of the level, at once: the number of pages may have grown a hundredfold since the last time
SOME, HALVINGS = 64, 10  # pages by which the next level is found, and in how many steps
SHORTEST = 1.0  # seconds between two visits
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
    """A page goes to the end of the queue: however often it changes, and whatever it matters, it has the same share."""

    early = True

    def due(self, record: PageRecord, now: float, place: float) -> float:
        del record
        return place + self.options.round(now)


class Steered(Fixed, ABC):
    """Base of policies in which a level, the same for all pages, makes of a page its interval.

    The level is such that the pages of the sample are visited once per round on average: then visits just fill the
    budget. What error remains shows in the queue, which becomes later and later or earlier and earlier, and is
    corrected slowly.
    """

    early = True
    patience = 4.0  # rounds; the level falls while pages become known

    def __init__(self, options: PolicyOptions) -> None:
        super().__init__(options)
        self.level = 1.0
        self.extra = 0.0  # visits since the level was set that no interval asks for
        self._correction = 0.0  # ln
        self._farthest = YEAR
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
        return min(max(self.interval(page, level), SHORTEST), self._farthest)

    def _steer(self, now: float, place: float) -> None:
        """Set the level by what the pages of the sample are known for by now."""
        pages = [*self.options.sample]
        if not pages:
            return
        self.options.sample.prior.learn(pages)
        seconds = self.options.round(now)
        self._farthest = FARTHEST * seconds
        late = max(min((now - place) / seconds, BOUND), -BOUND)
        if abs(late) < BOUND:
            passed = self._calls / max(self.options.pages(), 1)  # rounds
            self._correction = max(min(self._correction - DRIFT * passed * late, WRONG), -WRONG)
        wanted = exp(self._correction - PULL * late) - self.extra / self._calls  # visits per page and round
        found = sum(seconds / self._bounded(page, self.level) for page in pages) / len(pages)
        self.level *= exp(self._step(pages, found / max(wanted, 0.1)))
        self._pause = max(self.options.pages() // PASSES, len(pages))
        self._calls = 0
        self.extra = 0.0

    def _step(self, pages: list[Visited], excess: float) -> float:
        """Return by how much ln of the level changes, so that visits become so many times fewer.

        How visits follow the level is learned from a few pages: as its root while intervals are short, and much faster
        where they are long.
        """
        some = pages[:: max(len(pages) // SOME, 1)]

        def visits(step: float) -> float:
            level = self.level * exp(step)
            return sum(1 / max(self.interval(page, level), SHORTEST) for page in some)

        wanted = visits(0.0) / excess
        low, high = -STEP, STEP
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
    """The priority of a page is the share of its visits that found it changed; twice as much means twice as often.

    "The priority of documents that do not change from one download to the next decreases over time, thereby causing
    them to be downloaded less frequently than documents that change often", by a "randomized priority-based scheme"
    (Najork and Heydon 2001, section 3.1). A page of which nothing is known counts as changed on one visit of two.
    """

    def interval(self, page: Visited, level: float) -> float:
        return level * (page.visits + 2) / (page.changes + 1)

    def due(self, record: PageRecord, now: float, place: float) -> float:
        wait = super().due(record, now, place) - place
        return place + wait * (0.5 + self.options.random.random())
