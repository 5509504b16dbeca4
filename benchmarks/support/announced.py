"""Pages whose hosts have sitemaps: what these say, and what is done with it."""

from __future__ import annotations

from random import Random

import numpy as np

from benchmarks.support.changing import World
from benchmarks.support.revisiting import Store
from webcrawl.crawl.revisit.announcers import Trust

HOST = 100  # pages
KINDS = ("honest", "always", "random", "never")
CHANCE = 0.05  # that a date is new at a reading, if dates are random


class Announced(Store):
    """Sitemaps are read once per step. Fetches ahead of a page's turn are paid from the budget of the next visits."""

    def __init__(self, world: World, budget: float, policy: str, kind: str, listed: float, *, seed: int = 1) -> None:
        super().__init__(world, budget, policy, seed=seed)
        pages = len(world)
        self.kind, self.random, self.missed = kind, Random(seed), self._missed
        self.listed = world.random.random(pages) < listed
        self.trusts = [Trust() for _ in range(-(-pages // HOST))]
        self.read = 0.0  # when sitemaps were read
        self.ahead = np.zeros(pages)  # when a page was fetched ahead of its turn, and its record does not know it yet
        self.differs = np.zeros(pages, bool)  # and whether it was changed
        self.known_since = np.zeros(pages)  # the last fetch that the record knows
        self.gap, self.told, self.signals = np.zeros(pages), np.zeros(pages), np.zeros(pages)
        self.owed = self.before_turn = 0

    def first(self, part: int) -> None:
        super().first(part)
        self.known_since[:] = self.fetched
        self.read = self.clock

    def visit(self, part: int) -> None:
        now = self.clock
        follow = self._follow(now)
        if len(follow):
            self._fetch_ahead(follow, now)
        self.owed += len(follow)
        take = max(part - self.owed, 0)
        self.owed -= part - take
        end = float(self._times(part)[-1])
        times = np.linspace(now, end, take + 1)[1:]
        at = self._next(take) if take else np.zeros(0, int)
        waits = self.ahead[at] > 0
        self._absorb(at[waits], times[waits])
        at, times = at[~waits], times[~waits]
        self.owed -= int(waits.sum())
        changed, seconds = self.changes_at[at] <= times, times - self.fetched[at]
        self._fetch(at, times)
        silent = self.told[at] <= self.known_since[at]
        for page in at[changed & self.listed[at] & silent].tolist():
            if self.trusts[page // HOST].is_believed:
                self.trusts[page // HOST].found()
        self._learn(at, times, seconds, changed)
        self.known_since[at] = times
        self.total += len(at)
        self.after_step()

    def _missed(self, page: int) -> float:
        trust = self.trusts[page // HOST]
        return trust.missed if self.listed[page] else 1.0

    def _newer(self, now: float) -> np.ndarray:
        """The pages whose dates are new since the last reading."""
        chance, pages = self.world.random.random(len(self.world)), len(self.world)
        if self.kind == "honest":
            first = (self.changes_at > self.read) & (self.changes_at <= now)
            again = (self.changes_at <= self.read) & (chance < -np.expm1(-self.world.rates * (now - self.read)))
            new = first | again
        else:
            new = {"always": np.ones(pages, bool), "random": chance < CHANCE, "never": np.zeros(pages, bool)}[self.kind]
        return np.flatnonzero(new & self.listed)

    def _follow(self, now: float) -> np.ndarray:
        newer, self.read = self._newer(now), now
        if not len(newer):
            return newer
        hosts, starts = np.unique(newer // HOST, return_index=True)
        found: list[int] = []
        for host, pages in zip(hosts.tolist(), np.split(newer, starts[1:]), strict=True):
            rows = pages.tolist()
            most = self.trusts[host].worth(len(rows), now)
            if most < len(rows):
                rows = self.random.sample(rows, most)
            found += [page for page in rows if self._is_worth(page, now)]
        return np.array(found, int)

    def _is_worth(self, page: int, now: float) -> bool:
        count, gap = self.signals[page], now - self.told[page]
        self.told[page], self.signals[page] = now, count + 1
        if count:
            self.gap[page] += (gap - self.gap[page]) * max(1 / count, 0.1)
        return self.policy.worth(float(self.world.weights[page]), float(self.gap[page]) if count else None, now)

    def _fetch_ahead(self, at: np.ndarray, now: float) -> None:
        changed = self.changes_at[at] <= now
        known = np.where(self.ahead[at] > 0, self.differs[at], False)
        self._fetch(at, np.full(len(at), now))
        self.ahead[at], self.differs[at] = now, known | changed
        for page, is_changed in zip(at.tolist(), changed.tolist(), strict=True):
            self.trusts[page // HOST].signalled(changed=is_changed)
        self.before_turn += len(at)
        self.total += len(at)

    def _absorb(self, at: np.ndarray, times: np.ndarray) -> None:
        if len(at):
            self._learn(at, times, self.ahead[at] - self.known_since[at], self.differs[at])
            self.due[at] -= times - self.ahead[at]
            self.known_since[at], self.ahead[at] = self.ahead[at], 0.0
