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
    """Counts what revisits found, and estimates from a sample how fresh the copies of pages are.

    `counters` are the crawl's, which the checkpoint keeps. `now` gives the figures that are true at
    a moment and counted nowhere, such as the number of records.
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
        self._estimated = RevisitFigures()  # the last estimate, which is good
        self._estimated_until = float("-inf")  # this time by the crawl's clock
        # One or two readings of the counter of revisits, the older one first, from which `_rate`
        # measures: the time by the crawl's clock, and the revisits by then.
        self._readings = [(clock(), counters[f"{PREFIX}taken"])]
        saved = db.get(SAMPLED)
        if saved is not None:
            sample.restore(saved)
        db.join(self)

    # -- counting

    def taken(self) -> None:
        """Count a page that was fetched again, or whose host was requested in vain."""
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

    def record_end(self, _link: Link, _outcome: Outcome, exchange: Exchange | None) -> None:
        """Count what a revisit has found, also one ahead of its page's turn."""
        judgement: PageJudgement | None = exchange.state.revisit if exchange is not None else None
        if judgement is None or judgement.change is Change.NEW:
            return
        self._counters[PREFIX + ENDS[judgement.change, judgement.by]] += 1

    # -- requested

    def figures(self, *, anew: bool = False) -> RevisitFigures:
        """Return all figures: counts as they are, estimates up to LASTS seconds old.

        `anew`: the estimates, too, are of this moment.
        """
        counted: dict[str, Any] = {name: self._counters[PREFIX + name] for name in COUNTED}
        counted |= {name: self._counters[counter] for name, counter in SIGNALS.items()}
        now = self._clock()
        figures = replace(self.now(), used=self._rate(now, counted["taken"]), **counted)
        # Were it later than LASTS from now, the clock would have been set back since.
        is_fresh = now < self._estimated_until <= now + LASTS
        if anew or not is_fresh or not self._estimated.sampled:
            estimate(figures, self._sample, now)
            self._estimated = figures
            self._estimated_until = now + LASTS
            return figures
        return replace(figures, **{name: getattr(self._estimated, name) for name in ESTIMATED})

    def _rate(self, now: float, taken: int) -> float:
        """Return the revisits per second of the last five to ten minutes, or of a shorter run.

        `taken`: revisits by now. A new reading is noted every five minutes, and measured from once
        the next one is there: so the time that is measured is never only a moment.
        """
        last_reading = self._readings[-1]
        if now - last_reading[0] > RATE_SPAN / 2:
            self._readings = [last_reading, (now, taken)]
        since, taken_before = self._readings[0]
        if now <= since:  # the run has just begun, or the clock was set back
            return 0.0
        return max(taken - taken_before, 0) / (now - since)

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
    """Set the figures of all pages that can only be estimated, from a sample of the pages.

    Freshness and age are averages by the weight of pages, which is their importance. `let_go` is
    the number of pages that are as good as out of date: their share of the sample, of all records.
    """
    figures.clear_estimates()
    pages = [*sample]
    if not pages:
        return
    sample.prior.fit(pages)
    weights = fresh_weight = weighted_age = 0.0
    stale = 0
    for page in pages:
        # shape and span of the page's rate of change: their ratio is the seconds per change
        rate = sample.prior.given(page)
        since = max(now - page.fetched, 0.0)  # the machine's clock may have been set back
        fresh = freshness(rate, since)
        stale += fresh < STALE
        weights += page.weight
        fresh_weight += page.weight * fresh
        # the age of a copy: for how long it has been out of date
        weighted_age += page.weight * (since - fresh_time(rate, since))
        figures.rates[bin_of(rate[1] / rate[0])] += 1
        if page.interval > 0.0:
            figures.intervals[bin_of(page.interval)] += 1
    if weights > 0.0:
        figures.freshness = fresh_weight / weights
        figures.age = weighted_age / weights
    figures.let_go = round(figures.records * stale / len(pages))
    figures.sampled = len(pages)
