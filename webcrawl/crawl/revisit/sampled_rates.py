"""What the visits of a sample of pages say of their change rates: exact posteriors on a grid of rates.

A visit says whether a page changed, not how often. Of each page is kept for how many seconds it was seen unchanged,
and how many changes were found, by the time that had passed, in powers of two. The prior is learned from the visits of
all pages (rate_prior.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, floor, log1p, log2
from typing import Any, NamedTuple

import numpy as np

from webcrawl.crawl.revisit.change_rate import KNOWN, LEAST, SHAPE, SPAN
from webcrawl.crawl.revisit.rate_prior import learned
from webcrawl.store.jobdir.revisit_figures import RevisitFigures, bin_of

Array = Any  # of float64
RATES = np.geomspace(1 / (30 * 365 * 86400.0), 1 / 60.0, 64)  # changes per second, each a fifth above the one before
TAIL = 2.5  # before anything is known, the faster the fewer, by this power; a Gamma distribution would end too soon
SHARES = RATES**SHAPE * (1 + SPAN / (TAIL - 1) * RATES) ** -(SHAPE + TAIL)
SHARES /= SHARES.sum()
PASSED = 60.0 * 2.0 ** np.arange(24)  # seconds, by which changes are counted
# The logarithm of the probability of a change in such times, with one more on each side, and what stands for it: times
# are rounded up or down, and a straight line between two points of a curve that bends so lies below it.
CURVE = np.log(-np.expm1(-np.outer(PASSED[0] / 2 * 2.0 ** np.arange(len(PASSED) + 2), RATES)))
CHANGED = CURVE[1:-1] - np.diff(CURVE, 2, axis=0) / 12
GOLDEN = 0.618034
MOST = 31  # that are counted; then what was seen is halved
SURE = 10.0  # pages that what is believed before counts as
STEPS = 4  # in which the prior is learned anew; ten times as many the first time
LOGARITHMS = np.log(RATES)
ROWS, COLUMNS = 32, 64  # of a table: what visits say of a page, its shape and span, both as logarithms
WIDE, SHORT = 3.0, 60.0  # columns to a power of e, from so many seconds up
DENSE = (ROWS - 1) / log1p(KNOWN)
SHAPES = np.expm1(np.arange(ROWS) / DENSE)
SPANS = SHORT * np.expm1(np.arange(COLUMNS) / WIDE)
STALE = 0.05  # probability of being fresh below which a page is as good as out of date


class Sampled(NamedTuple):
    """One page of the sample by which the whole is judged."""

    fetched: float  # seconds since 1970
    weight: float = 1.0
    interval: float = 0.0  # seconds between its last two fetches; 0: there was only one
    quiet: float = 0.0  # seconds between two fetches, together, after which the page was as before
    changes: bytes = bytes(len(PASSED))  # fetches that found a change, by the seconds that had passed

    def after(self, seconds: float, *, changed: bool) -> Sampled:
        """With a visit so long after the last one. What was seen long ago fades."""
        seconds = max(seconds, LEAST)
        if not changed:
            return self._replace(quiet=self.quiet + seconds)
        changes, quiet = bytearray(self.changes), self.quiet
        up = (self.fetched + sum(changes)) * GOLDEN % 1.0  # rounded by chance: all intervals may be the same
        place = min(max(floor(log2(seconds / PASSED[0]) + up), 0), len(changes) - 1)
        if changes[place] == MOST:
            changes, quiet = bytearray(one // 2 for one in changes), quiet / 2
        changes[place] += 1
        return self._replace(quiet=quiet, changes=bytes(changes))


class Rates:
    """How the rates of all pages are distributed: it is learned anew with each sample, from what it was before."""

    def __init__(self) -> None:
        self._steps = 10 * STEPS
        self._set(np.log(SHARES))

    def beliefs(self, pages: list[Sampled]) -> Array:
        """The probability of each of RATES, a row for each page."""
        changes = np.frombuffer(b"".join(page.changes for page in pages), np.uint8).reshape(len(pages), -1)
        likely = changes @ CHANGED - np.outer([page.quiet for page in pages], RATES)
        likely = np.exp(likely - likely.max(axis=1, keepdims=True))
        self._set(learned(likely, SHARES, SURE, self._logs, self._steps))
        self._steps = STEPS
        believed = likely * np.exp(self._logs)
        return believed / np.maximum(believed.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def _set(self, logs: Array) -> None:
        """Has shares of these logarithms, and what follows from them for pages of any shape and span, as logarithms."""
        self._logs = logs
        self.mean = float(np.exp(logs) @ RATES)
        others = np.outer(1 - SHAPES / KNOWN, logs)[:, None]
        likely = others + np.outer(SHAPES, LOGARITHMS)[:, None] - np.outer(SPANS, RATES)
        believed = np.exp(likely - likely.max(axis=2, keepdims=True))
        believed /= believed.sum(axis=2, keepdims=True)
        mean = np.log(believed @ RATES)
        apart = np.maximum(mean - believed @ LOGARITHMS, 1e-3)
        shape = np.log((3 - apart + np.sqrt((apart - 3) ** 2 + 24 * apart)) / (12 * apart))  # Minka's approximation
        self._shape_of, self._span_of = shape.tolist(), (shape - mean).tolist()

    def given(self, shape: float, span: float) -> tuple[float, float]:
        """The Gamma distribution of a page's rate, by what its visits say (change_rate.py): shape and span.

        It has the mean of the exact posterior, and the mean of the logarithms. The more a page is known by its own
        visits, the less it matters what others are like.
        """
        if shape >= KNOWN:
            return shape, span
        across, down = log1p(span / SHORT) * WIDE, log1p(shape) * DENSE
        row, column = min(int(down), ROWS - 2), min(int(across), COLUMNS - 2)
        down, across = down - row, min(across - column, 1.0)
        place = row, column, down, across
        return exp(_between(self._shape_of, *place)), exp(_between(self._span_of, *place))


def _between(table: list[list[float]], row: int, column: int, down: float, across: float) -> float:
    """By straight lines between four places of a table."""
    upper, lower = table[row], table[row + 1]
    first = upper[column] + (upper[column + 1] - upper[column]) * across
    return first + (lower[column] + (lower[column + 1] - lower[column]) * across - first) * down


def estimate(figures: RevisitFigures, sample: Iterable[Sampled], now: float, rates: Rates) -> None:
    """Sets what is estimated from a sample of the records, `let_go` as their share of all records."""
    pages = [*sample]
    figures.clear_estimates()
    if not pages:
        return
    believed = rates.beliefs(pages)
    fetched, weight, intervals = np.array([page[:3] for page in pages]).T
    since = np.maximum(now - fetched, 0.0)  # the machine's clock may have been set back
    unchanged = np.exp(np.outer(-since, RATES))
    fresh = (believed * unchanged).sum(axis=1)
    age = since - (believed * (1 - unchanged) / RATES).sum(axis=1)
    if weight.sum() > 0.0:
        figures.freshness, figures.age = float(fresh @ weight / weight.sum()), float(age @ weight / weight.sum())
    figures.let_go = round(figures.records * float((fresh < STALE).mean()))
    figures.sampled = len(pages)
    for rate in (believed @ RATES).tolist():
        figures.rates[bin_of(1 / rate)] += 1
    for interval in intervals[intervals > 0].tolist():
        figures.intervals[bin_of(interval)] += 1
