"""Revisits in simulated time: the records of a crawl as arrays, and what the web's pages do
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from benchmarks.support.changing import World
from webcrawl.base.loading import load
from webcrawl.crawl.revisit.change_rate import Sample
from webcrawl.crawl.revisit.policies import POLICIES, Policy, PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.revisits import SET_BACK_SHARE

# Steps in which a round of all pages is simulated. Within a step the order of pages is that before
PARTS = 400
SOON_STEPS = 16  # for which due pages are looked for at once
START = 1.8e9
KNOWN_RATE_CHANGES = 1e6  # that a record of a page has seen whose rate is known


class Store:
    """The records of a crawl as arrays, and what the web's pages do meanwhile."""

    def __init__(
        self, world: World, budget: float, policy: str, *, known: bool = False, seed: int = 1
    ) -> None:
        """Create the store for a world and a policy; `budget` is the number of visits per second.

        If `known`, the policy knows the rates.
        """
        pages = len(world)
        self.world = world
        self.budget = budget
        self.known = known
        self.kept = 0
        self.clock = START
        self.sample = Sample()  # as a crawl has one
        options = PolicyOptions(
            30 * 86400.0, lambda: self.budget, lambda: self.kept, Random(seed), self.sample
        )
        self.policy: Policy = load(POLICIES.get(policy, policy))(options)
        self.fetched, self.due = np.zeros(pages), np.full(pages, np.inf)
        self.put_off = np.zeros(pages, bool)  # due is when the policy is asked again
        self.changes_at = np.zeros(pages)
        self.shape, self.span = np.zeros(pages), np.zeros(pages)
        self.visits, self.changes = np.zeros(pages, np.uint8), np.zeros(pages, np.uint8)
        self.kept_of = (self.shape, self.span, self.visits, self.changes)
        self._place = 0.0  # the due time that the queue has come to
        self._soon, self._bar = np.zeros(0, int), -np.inf  # all pages that are due until then
        self.total = 0
        self.fresh = 0.0  # weighted seconds for which pages were as fetched, up to their last fetch

    def first(self, part: int) -> None:
        """Fetch all pages for the first time, in a random order, `part` at a time."""
        order = self.world.random.permutation(len(self.world))
        for at in np.array_split(order, max(len(order) // part, 1)):
            times = self._times(len(at))
            self._fetch(at, times)
            if self.known:
                self.shape[at], self.span[at] = (
                    KNOWN_RATE_CHANGES,
                    KNOWN_RATE_CHANGES / self.world.rates[at],
                )
            self.kept += len(at)
            for page, now, weight in zip(
                at.tolist(), times.tolist(), self.world.weights[at].tolist(), strict=True
            ):
                self.sample.put(PageRecord(str(page), fetched=now, weight=weight), 0.0)
            self._queue(at, self._due_times(at, times), times)

    def visit(self, part: int) -> None:
        """Visit the next pages in the order of their due times."""
        times = self._times(part)
        at = self._next(part)
        if not self.policy.early:
            at = at[self.due[at] <= times]
            times = times[: len(at)]
        changed, seconds = self.changes_at[at] <= times, times - self.fetched[at]
        self._fetch(at, times)
        self._learn(at, times, seconds, changed)
        self.total += len(at)

    def _next(self, part: int) -> np.ndarray:
        """Return the pages that are due first, in order.

        The policy is asked again about those that were put off.
        """
        at = self._first_due(part)
        while self.put_off[at].any():
            asked = at[self.put_off[at]]
            due = self._due_times(asked, np.full(len(asked), self.clock)) - (
                self.clock - self.fetched[asked]
            )
            self._queue(asked, due, self.due[asked])
            at = self._first_due(part)
        return at

    def _first_due(self, part: int) -> np.ndarray:
        """Return the first pages by due time, in order.

        To go through ten million pages for each few of them would take hours, so pages that are due
        soon are kept apart.
        """
        self._soon = self._soon[self.due[self._soon] <= self._bar]
        if len(self._soon) < part:
            last = min(SOON_STEPS * part, len(self.due)) - 1
            self._bar = float(np.partition(self.due, last)[last])
            self._soon = np.flatnonzero(self.due <= self._bar)
        due = self.due[self._soon]
        first = np.argpartition(due, part - 1)[:part]
        return self._soon[first[np.argsort(due[first])]]

    def _due_times(self, at: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return when the policy wants these pages to be visited, as their records are now."""
        record, policy = PageRecord(""), self.policy
        rows = (
            at,
            times,
            self.fetched[at],
            self.world.weights[at],
            *(kept[at] for kept in self.kept_of),
        )
        due = []
        for page, now, fetched, weight, shape, span, visits, changes in zip(
            *(row.tolist() for row in rows), strict=True
        ):
            record.url, record.fetched, record.weight = str(page), fetched, weight
            record.shape, record.span, record.visits, record.changes = shape, span, visits, changes
            due.append(policy.due(record, now, self.place(now)))
        return np.array(due)

    def _queue(self, at: np.ndarray, due: np.ndarray, place: np.ndarray) -> None:
        """Let pages wait until they are due, or until the policy is asked again, as in revisits.py.

        `place` is the due time that the queue has come to.
        """
        a_round = len(self.world) / self.budget
        patience = getattr(self.policy, "patience", np.inf)
        is_far = due - place > patience * a_round
        self.put_off[at] = is_far
        self.due[at] = np.where(is_far, place + a_round, due)

    def _learn(
        self, at: np.ndarray, times: np.ndarray, seconds: np.ndarray, changed: np.ndarray
    ) -> None:
        """Tell the policy what visits found, and queue the pages anew."""
        rows = (
            at,
            times,
            seconds,
            changed,
            self.due[at],
            self.world.weights[at],
            *(kept[at] for kept in self.kept_of),
        )
        record, policy, known = PageRecord(""), self.policy, self.known
        due, shapes, spans, visits, changes = [], [], [], [], []
        lists = (row.tolist() for row in rows)
        for page, now, passed, changed_, was, weight, shape, span, visit, change in zip(
            *lists, strict=True
        ):
            record.url, record.fetched, record.weight = str(page), now, weight
            record.shape, record.span, record.visits, record.changes = shape, span, visit, change
            self._place = (
                was if was > self._place else self._place + (was - self._place) * SET_BACK_SHARE
            )
            policy.observe(record, passed, changed_)
            if known:
                record.shape, record.span = shape, span
            self.sample.put(record, passed)
            due.append(policy.due(record, now, self.place(now)))
            shapes.append(record.shape)
            spans.append(record.span)
            visits.append(record.visits)
            changes.append(record.changes)
        self._queue(at, np.array(due), self.due[at])
        self.shape[at], self.span[at] = shapes, spans
        self.visits[at], self.changes[at] = visits, changes

    def place(self, now: float) -> float:
        """Return the due time that the queue has come to."""
        return self._place or now

    def _times(self, part: int) -> np.ndarray:
        """Return the times of the next visits, and move the clock to the last of them."""
        times = self.clock + np.arange(1, part + 1) / self.budget
        self.clock = float(times[-1])
        return times

    def _fetch(self, at: np.ndarray, times: np.ndarray) -> None:
        """Note that these pages are fetched at these times, and draw their next changes."""
        ends = np.minimum(self.changes_at[at], times)
        was = self.fetched[at] > 0
        self.fresh += float((self.world.weights[at] * (ends - self.fetched[at]))[was].sum())
        self.fetched[at] = times
        self.changes_at[at] = times + self.world.random.exponential(1 / self.world.rates[at])

    def fresh_by_now(self) -> float:
        """Return the weighted seconds for which pages have been as fetched."""
        return self.fresh + float(
            (self.world.weights * (np.minimum(self.changes_at, self.clock) - self.fetched)).sum()
        )


def simulate(
    store: Store, visits: float, steps: int, parts: int = PARTS
) -> Iterator[tuple[float, float]]:
    """Yield, after each step, the visits per page so far and the freshness since the last step."""
    pages = len(store.world)
    part = max(pages // parts, 1)
    store.first(part)
    before, since = store.fresh_by_now(), store.clock
    for step in range(1, steps + 1):
        while (
            store.clock - START
            < pages / store.budget * (1 + visits * step / steps) - 0.5 / store.budget
        ):
            store.visit(part)
        now = store.fresh_by_now()
        yield visits * step / steps, (now - before) / (store.clock - since)
        before, since = now, store.clock
