"""The figures of revisits: counted at the end of each, estimated when somebody asks, noted by each checkpoint."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from webcrawl.model import Exchange, Link, Outcome
from webcrawl.revisit.change import By, Change, Judged
from webcrawl.revisit.figures import ESTIMATED, META, PREFIX, RevisitFigures, Sampled
from webcrawl.store.crawldb import CrawlDB

LASTS = 5.0  # seconds for which an estimate is good: a sample of 4,096 takes 10 ms
BY_ENDS = (
    *("unchanged_304", "unchanged_digest", "changed_digest", "changed_text"),
    *("gone", "forgotten", "moved", "signals_true", "signals_false", "signals_ignored"),
)
COUNTED = {  # by what a fetch found; a new page is no revisit
    (Change.UNCHANGED, By.STATUS): "unchanged_304",
    (Change.UNCHANGED, By.DIGEST): "unchanged_digest",
    (Change.CHANGED, By.DIGEST): "changed_digest",
    (Change.CHANGED, By.TEXT): "changed_text",
    (Change.GONE, None): "gone",
}


class RevisitCounts:
    """`counters` are the crawl's, which the checkpoint keeps; `now` gives the others, and `sample` some pages."""

    def __init__(
        self,
        db: CrawlDB,
        counters: Counter[str],
        now: Callable[[], RevisitFigures],
        sample: Callable[[], Iterable[Sampled]],
        clock: Callable[[], float],
    ) -> None:
        self._db, self._counters, self._now, self._sample, self._clock = db, counters, now, sample, clock
        self._estimated = RevisitFigures()
        self._until = float("-inf")
        db.join(self)

    def hear(self, _link: Link, _outcome: Outcome, exchange: Exchange | None) -> None:
        """A URL has ended."""
        judged: Judged | None = exchange.revisit if exchange is not None else None
        if judged is None or judged.change is Change.NEW:
            return
        self._counters[PREFIX + COUNTED[judged.change, judged.by]] += 1
        if judged.signal is not None:
            true = judged.change is not Change.UNCHANGED
            self._counters[PREFIX + ("signals_true" if true else "signals_false")] += 1

    def figures(self, *, anew: bool = False) -> RevisitFigures:
        """Counts as they are; estimates may be some seconds old unless they are wanted `anew`."""
        counted: dict[str, Any] = {name: self._counters[PREFIX + name] for name in BY_ENDS}
        found, now = replace(self._now(), **counted), self._clock()
        if anew or now >= self._until or self._until - now > LASTS:  # the last: the clock was set back
            found.estimate(self._sample(), now)
            self._estimated, self._until = found, now + LASTS
            return found
        return replace(found, **{name: getattr(self._estimated, name) for name in ESTIMATED})

    def stats(self) -> dict[str, int | float]:
        """All but the histograms, by the names that stats.json has."""
        return {PREFIX + name: number for name, number in self.figures().numbers().items()}

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        """For those who read the state of a crawl that does not run."""
        figures = self.figures(anew=True)
        self._db.set(META, json.dumps(figures.numbers() | figures.histograms()).encode())
