"""Pages whose hosts have sitemaps: what these say, and what is done with it."""

from __future__ import annotations

from random import Random

import numpy as np

from benchmarks.support.changing import World
from benchmarks.support.revisiting import Store
from webcrawl.crawl.revisit.revisits import SIGNALS
from webcrawl.crawl.revisit.signals import Announcer

PAGES_PER_HOST = 100  # pages
KINDS = ("honest", "always", "random", "never")
NEW_DATE_CHANCE = 0.05  # that a date is new at a reading, if dates are random


class Announced(Store):
    """A store whose hosts have sitemaps, which are read once per step.

    Fetches ahead of a page's turn have half of the budget; further ones wait.
    """

    def __init__(
        self, world: World, budget: float, policy: str, kind: str, listed: float, *, seed: int = 1
    ) -> None:
        """Create the store; `kind` is one of KINDS, and `listed` the share of the pages in
        sitemaps.
        """
        super().__init__(world, budget, policy, seed=seed)
        pages = len(world)
        self.kind = kind
        self.random = Random(seed)
        self.listed = world.random.random(pages) < listed
        self.hosts = [Announcer() for _ in range(-(-pages // PAGES_PER_HOST))]
        # As in a crawl (revisits.py): a policy may decline signals of some pages
        self.declines = getattr(self.policy, "declines", lambda _url: False)
        # pages whose signals are to be followed, the oldest first
        self.waiting: dict[int, None] = {}
        self.read = 0.0  # when sitemaps were read
        # when a page was fetched ahead of its turn, and its record does not know it yet
        self.ahead = np.zeros(pages)
        self.differs = np.zeros(pages, bool)  # and whether it was changed
        self.known_since = np.zeros(pages)  # the last fetch that the record knows
        self.before_turn = 0

    def first(self, part: int) -> None:
        super().first(part)
        self.known_since[:] = self.fetched
        self.read = self.clock

    def visit(self, part: int) -> None:
        """Fetch announced pages ahead of their turns, and then pages whose turn it is."""
        now = self.clock
        self.waiting.update(dict.fromkeys(self._announced_pages(now)))
        follow = np.array([*self.waiting][: int(SIGNALS * part)], int)
        for page in follow.tolist():
            del self.waiting[page]
        if len(follow):
            self._fetch_ahead(follow, now)
        take = part - len(follow)
        end = float(self._times(part)[-1])
        times = np.linspace(now, end, take + 1)[1:]
        at = self._next(take)
        while (waits := self.ahead[at] > 0).any():  # they need no fetch in their turns
            self._absorb(at[waits], times[waits])
            at = self._next(take)
        changed, seconds = self.changes_at[at] <= times, times - self.fetched[at]
        self._fetch(at, times)
        self._learn(at, times, seconds, changed)
        self.known_since[at] = times
        for page in at.tolist():
            self.waiting.pop(page, None)
        self.total += len(at)

    def _pages_with_new_dates(self, now: float) -> np.ndarray:
        """Return the pages whose dates are new since the last reading."""
        chance, pages = self.world.random.random(len(self.world)), len(self.world)
        if self.kind == "honest":
            first = (self.changes_at > self.read) & (self.changes_at <= now)
            again = (self.changes_at <= self.read) & (
                chance < -np.expm1(-self.world.rates * (now - self.read))
            )
            new = first | again
        else:
            new = {
                "always": np.ones(pages, bool),
                "random": chance < NEW_DATE_CHANCE,
                "never": np.zeros(pages, bool),
            }[self.kind]
        return np.flatnonzero(new & self.listed)

    def _announced_pages(self, now: float) -> list[int]:
        """Read the sitemaps, and return the pages that the crawl follows."""
        newer, self.read = self._pages_with_new_dates(now), now
        hosts, starts = np.unique(newer // PAGES_PER_HOST, return_index=True)
        found: list[int] = []
        for host, pages in zip(hosts.tolist(), np.split(newer, starts[1:]), strict=False):
            rows = pages.tolist()
            found += self.random.sample(
                rows, min(self.hosts[host].worth(len(rows), self.random), len(rows))
            )
        return [page for page in found if not self.declines(str(page))]

    def _fetch_ahead(self, at: np.ndarray, now: float) -> None:
        """Fetch pages ahead of their turns, and tell their hosts whether they had changed."""
        changed = self.changes_at[at] <= now
        known = np.where(self.ahead[at] > 0, self.differs[at], False)
        self._fetch(at, np.full(len(at), now))
        self.ahead[at], self.differs[at] = now, known | changed
        for page, is_changed in zip(at.tolist(), changed.tolist(), strict=True):
            self.hosts[page // PAGES_PER_HOST].signalled(changed=is_changed)
        self.before_turn += len(at)
        self.total += len(at)

    def _absorb(self, at: np.ndarray, times: np.ndarray) -> None:
        """Give what was fetched ahead to the records of these pages, in place of a fetch."""
        if len(at):
            self._learn(at, times, self.ahead[at] - self.known_since[at], self.differs[at])
            self.due[at] -= times - self.ahead[at]
            self.known_since[at], self.ahead[at] = self.ahead[at], 0.0
