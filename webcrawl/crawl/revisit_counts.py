"""The figures of revisits: counted at the end of each, estimated when somebody asks, noted by each checkpoint.

Freshness is estimated from the pages whose URLs have the smallest hashes, as their last fetch left them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from struct import Struct
from typing import Any

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_values import By, Change, Judged
from webcrawl.crawl.revisit.page_sample import MOST, Sample
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.sampled_rates import Rates, Sampled, estimate
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.jobdir.revisit_figures import ESTIMATED, META, PREFIX, RevisitFigures

WATCHED = "revisits/sample"
BAR, ROW = Struct("<Q"), Struct("<Qd3f24s")

LASTS = 5.0  # seconds for which an estimate is good: a sample of 4,096 takes 30 ms
SPAN = 600.0  # seconds over which the rate of revisits is measured, at most
COUNTED = (
    *("taken", "unchanged_304", "unchanged_digest", "changed_digest", "changed_text"),
    *("gone", "forgotten", "moved"),
)
SIGNALS = {name: name.replace("_", "/", 1) for name in ("signals_true", "signals_false", "signals_ignored")}
ENDS = {  # by what a fetch found; a new page is no revisit
    (Change.UNCHANGED, By.STATUS): "unchanged_304",
    (Change.UNCHANGED, By.DIGEST): "unchanged_digest",
    (Change.CHANGED, By.DIGEST): "changed_digest",
    (Change.CHANGED, By.TEXT): "changed_text",
    (Change.GONE, None): "gone",
}


class Watched(Part):
    """A sample of pages, as their last fetches left them. Part of each checkpoint.

    `key` is the crawl's: no site can choose its URLs so that they are watched.
    """

    def __init__(self, db: CrawlDB, key: bytes, most: int = MOST) -> None:
        self._db = db
        self._pages: Sample[Sampled] = Sample(key, most)
        data = db.get(WATCHED)
        if data is not None:
            rows = ((row[0], Sampled(*row[1:])) for row in ROW.iter_unpack(data[BAR.size :]))
            (bar,) = BAR.unpack_from(data)
            self._pages.fill(key, bar, rows)
        db.join(self)

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[Sampled]:
        return iter(self._pages.rows)

    def put(self, record: PageRecord, interval: float, changed: bool | None) -> None:  # noqa: FBT001
        """A page was fetched, so many seconds after the last time. `changed`: what that says; None: nothing."""
        slot = self._pages.find(record.url)
        page = self._pages.rows[slot] if slot is not None else Sampled(record.fetched)
        if changed is not None:
            page = page.after(interval, changed=changed)
        page = Sampled(record.fetched, record.weight, interval, page.quiet, page.changes)
        if slot is not None:
            self._pages.rows[slot] = page
        else:
            self._pages.put(record.url, page)

    def renew(self, url: str, fetched: float, *, changed: bool) -> None:
        """A page was fetched ahead of its turn."""
        slot = self._pages.find(url)
        if slot is not None:
            page = self._pages.rows[slot]
            self._pages.rows[slot] = Sampled(fetched, *page.after(fetched - page.fetched, changed=changed)[1:])

    def drop(self, url: str) -> None:
        """A page is fetched no more."""
        slot = self._pages.find(url)
        if slot is not None:
            self._pages.drop(slot)

    # -- the checkpoint

    def save(self) -> None:
        rows = (ROW.pack(number, *page) for number, page in self._pages.items())
        self._db.set(WATCHED, BAR.pack(self._pages.bar) + b"".join(rows))


class RevisitCounts(Part):
    """`counters` are the crawl's, which the checkpoint keeps. `now` gives what is true at a moment, and not counted."""

    def __init__(self, db: CrawlDB, watched: Watched, counters: Counter[str], clock: Callable[[], float]) -> None:
        self._db, self._watched, self._counters, self._clock = db, watched, counters, clock
        self.now: Callable[[], RevisitFigures] = RevisitFigures
        self.rates = Rates()
        self._estimated = RevisitFigures()
        self._until = float("-inf")
        self._marks = [(clock(), counters[f"{PREFIX}taken"])]  # two at most: when so many were taken
        db.join(self)

    # -- counting

    def taken(self) -> None:
        """A page was fetched again, or its host was asked in vain."""
        self._counters[f"{PREFIX}taken"] += 1

    def moved(self, url: str) -> None:
        """A page was redirected for good."""
        self._counters[f"{PREFIX}moved"] += 1
        self._watched.drop(url)

    def forgot(self, url: str) -> None:
        """A page is not fetched again any more."""
        self._counters[f"{PREFIX}forgotten"] += 1
        self._watched.drop(url)

    def kept(self, record: PageRecord, interval: float, changed: bool | None) -> None:  # noqa: FBT001
        """A page was fetched, so many seconds after the last time, 0 if there was none; None: nothing to compare."""
        self._watched.put(record, interval, changed)

    def kept_listing(self, url: str) -> None:
        """A sitemap or feed was fetched: how fresh its copy is does not matter."""
        self._watched.drop(url)

    def kept_ahead(self, record: PageRecord, *, changed: bool) -> None:
        """A page was fetched ahead of its turn, and its own record does not know of it yet."""
        self._watched.renew(record.url, record.fetched, changed=changed)

    def hear(self, _link: Link, _outcome: Outcome, exchange: Exchange | None) -> None:
        """A URL has ended."""
        judged: Judged | None = exchange.revisit if exchange is not None else None
        if judged is None or judged.change is Change.NEW:
            return
        self._counters[PREFIX + ENDS[judged.change, judged.by]] += 1  # of those fetched ahead of their turns, too

    # -- asked

    def figures(self, *, anew: bool = False) -> RevisitFigures:
        """Counts as they are; estimates may be some seconds old unless they are wanted `anew`."""
        counted: dict[str, Any] = {name: self._counters[PREFIX + name] for name in COUNTED}
        counted |= {name: self._counters[theirs] for name, theirs in SIGNALS.items()}
        now = self._clock()
        found = replace(self.now(), used=self._rate(now, counted["taken"]), **counted)
        fresh = now < self._until <= now + LASTS  # the last: the clock was set back
        if anew or not fresh or not self._estimated.sampled:
            estimate(found, self._watched, now, self.rates)
            self._estimated, self._until = found, now + LASTS
            return found
        return replace(found, **{name: getattr(self._estimated, name) for name in ESTIMATED})

    def _rate(self, now: float, taken: int) -> float:
        """Of the last five to ten minutes, as far as this run has lasted."""
        if now - self._marks[-1][0] > SPAN / 2:
            self._marks = [self._marks[-1], (now, taken)]
        at, before = self._marks[0]
        return max(taken - before, 0) / (now - at) if now > at else 0.0

    def stats(self) -> dict[str, int | float]:
        """All but the histograms, by the names that stats.json has."""
        return {PREFIX + name: number for name, number in self.figures().numbers().items()}

    # -- the checkpoint

    def save(self) -> None:
        """For those who read the state of a crawl that does not run."""
        figures = self.figures(anew=True)
        self._db.set(META, json.dumps(figures.numbers() | figures.histograms()).encode())
