"""The figures of revisits: counted as they end, estimated on demand, and checkpointed.

Freshness is estimated from the pages whose URLs have the smallest hashes, as their last fetch left
them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_values import By, Change, PageJudgement
from webcrawl.crawl.revisit.change_rate import Sample, fresh_time, freshness, observe
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.jobdir.revisit_figures import ESTIMATED, META, PREFIX, RevisitFigures, bin_of

SAMPLED = "revisits/pages"
LASTS = 5.0  # seconds for which an estimate is good: a sample of 4,096 takes 10 ms
STALE = 0.05  # probability of being fresh below which a page is as good as out of date
RATE_SPAN = 600.0  # seconds over which the rate of revisits is measured, at most
COUNTED = (
    *("taken", "unchanged_304", "unchanged_digest", "changed_digest", "changed_text"),
    *("gone", "forgotten", "moved"),
)
SIGNALS = {
    name: name.replace("_", "/", 1) for name in ("signals_true", "signals_false", "signals_ignored")
}
ENDS = {  # by what a fetch found; a new page is no revisit
    (Change.UNCHANGED, By.STATUS): "unchanged_304",
    (Change.UNCHANGED, By.DIGEST): "unchanged_digest",
    (Change.CHANGED, By.DIGEST): "changed_digest",
    (Change.CHANGED, By.TEXT): "changed_text",
    (Change.GONE, None): "gone",
}


class RevisitCounts(Part):
    """`counters` are the crawl's, which the checkpoint keeps.

    `now` gives what is true at a moment, and not counted.
    """

    def __init__(
        self, db: CrawlDB, sample: Sample, counters: Counter[str], clock: Callable[[], float]
    ) -> None:
        """Restore the sample of pages from which the figures are estimated."""
        self._db = db
        self._sample = sample
        self._counters = counters
        self._clock = clock
        self.now: Callable[[], RevisitFigures] = RevisitFigures
        self._estimated = RevisitFigures()
        self._until = float("-inf")
        # two at most: when so many were taken
        self._marks = [(clock(), counters[f"{PREFIX}taken"])]
        saved = db.get(SAMPLED)
        if saved is not None:
            sample.restore(saved)
        db.join(self)

    # -- counting

    def taken(self) -> None:
        """Count a page that was fetched again, or whose host was asked in vain."""
        self._counters[f"{PREFIX}taken"] += 1

    def moved(self, url: str) -> None:
        """Count a page that was redirected for good."""
        self._counters[f"{PREFIX}moved"] += 1
        self._sample.drop(url)

    def forgot(self, url: str) -> None:
        """Count a page that is not fetched again any more."""
        self._counters[f"{PREFIX}forgotten"] += 1
        self._sample.drop(url)

    def left(self, url: str) -> None:
        """Forget a page of another drone, or a listing: how fresh its copy is does not matter."""
        self._sample.drop(url)

    def kept(self, record: PageRecord, interval: float) -> None:
        """Take a page that was fetched, so many seconds after the last time, 0 if there was none."""
        self._sample.put(record, interval)

    def kept_ahead(self, record: PageRecord, *, changed: bool) -> None:
        """Take a page that was fetched ahead of its turn, unknown to its own record yet."""
        page = self._sample.find(record.url)
        if page is not None:
            observe(page, record.fetched - page.fetched, self._sample.prior, changed=changed)
            page.fetched = record.fetched

    def hear(self, _link: Link, _outcome: Outcome, exchange: Exchange | None) -> None:
        """Count what a fetch of a page again has found."""
        judged: PageJudgement | None = exchange.state.revisit if exchange is not None else None
        if judged is None or judged.change is Change.NEW:
            return
        # of those fetched ahead of their turns, too
        self._counters[PREFIX + ENDS[judged.change, judged.by]] += 1

    # -- asked

    def figures(self, *, anew: bool = False) -> RevisitFigures:
        """Counts as they are; estimates may be some seconds old unless they are wanted `anew`."""
        counted: dict[str, Any] = {name: self._counters[PREFIX + name] for name in COUNTED}
        counted |= {name: self._counters[theirs] for name, theirs in SIGNALS.items()}
        now = self._clock()
        found = replace(self.now(), used=self._rate(now, counted["taken"]), **counted)
        fresh = now < self._until <= now + LASTS  # the last: the clock was set back
        if anew or not fresh or not self._estimated.sampled:
            estimate(found, self._sample, now)
            self._estimated = found
            self._until = now + LASTS
            return found
        return replace(found, **{name: getattr(self._estimated, name) for name in ESTIMATED})

    def _rate(self, now: float, taken: int) -> float:
        """Return the rate of the last five to ten minutes, as far as this run has lasted."""
        if now - self._marks[-1][0] > RATE_SPAN / 2:
            self._marks = [self._marks[-1], (now, taken)]
        at, before = self._marks[0]
        return max(taken - before, 0) / (now - at) if now > at else 0.0

    def stats(self) -> dict[str, int | float]:
        """Return all but the histograms, by the names that stats.json has."""
        return {PREFIX + name: number for name, number in self.figures().numbers().items()}

    # -- the checkpoint

    def save(self) -> None:
        """Save the sample, and the figures for readers of a crawl that does not run."""
        self._db.set(SAMPLED, self._sample.save())
        figures = self.figures(anew=True)
        self._db.set(META, json.dumps(figures.numbers() | figures.histograms()).encode())


def estimate(figures: RevisitFigures, sample: Sample, now: float) -> None:
    """Set the figures that are estimated from a sample; `let_go`: its share of all records."""
    figures.clear_estimates()
    pages = [*sample]
    if not pages:
        return
    sample.prior.learn(pages)
    weights = fresh_weight = aged = 0.0
    stale = 0
    for page in pages:
        rate = sample.prior.given(page)
        since = max(now - page.fetched, 0.0)  # the machine's clock may have been set back
        fresh = freshness(rate, since)
        stale += fresh < STALE
        weights += page.weight
        fresh_weight += page.weight * fresh
        aged += page.weight * (since - fresh_time(rate, since))
        figures.rates[bin_of(rate[1] / rate[0])] += 1
        if page.interval > 0.0:
            figures.intervals[bin_of(page.interval)] += 1
    if weights > 0.0:
        figures.freshness = fresh_weight / weights
        figures.age = aged / weights
    figures.let_go = round(figures.records * stale / len(pages))
    figures.sampled = len(pages)
