"""Estimates how fast a page changes, from visits at irregular times that found it changed or not.

A page that was not visited again yet is believed to change as those did that were.
"""

from __future__ import annotations

from math import exp, expm1, log1p, sqrt
from struct import Struct

from webcrawl.crawl.revisit.record import PageRecord

FADE = 0.9  # with each change, what was seen so far counts so much of what it did: a page may become another
SURPRISE = 3.0  # times what an estimate from the visits alone says: one change raises the rate to that at most
LEAST = 1.0  # seconds between two visits; a clock that is set back says less than nothing
MOST = 250  # visits that are counted
SHAPE, SPAN = 0.35, 0.35 * 30 * 86400  # to begin with: one change in 30 days on average, over several powers of ten
SHAPES, SPANS = (0.1, 3.0), (60.0, 3e9)
STEP = 0.7  # of AdaGrad
PRIOR_FADE = 0.9999  # what many thousand pages ago were like counts less
BEGIN = 10.0  # the sums of squares that it begins with: the first pages move it little
_LAYOUT = Struct("<4d")
SIZE = _LAYOUT.size


def observe(record: PageRecord, seconds: float, changed: bool, prior: tuple[float, float]) -> None:  # noqa: FBT001
    """Puts one visit into the posterior Gamma(shape, span) of the record, and counts it.

    A change says that there was one, not how many: it puts the rate at ln(2n + 1) in its time at most, n being the
    visits, which is what Cho and Garcia-Molina's estimator says of a page that had changed at each of them.
    """
    shape, span = (record.shape, record.span) if record.shape > 0 and record.span > 0 else prior
    seconds = max(seconds, LEAST)
    if changed:
        most = max(shape / span, SURPRISE * log1p(2 * (record.visits + 1)) / seconds)
        shape, span = after_change(shape, span, seconds)
        span = max(span, shape / most)
        record.shape, record.span = shape * FADE, span * FADE
    else:
        record.shape, record.span = shape, span + seconds
    count(record, changed)


def after_change(shape: float, span: float, seconds: float) -> tuple[float, float]:
    """The Gamma distribution with mean and variance of the rate, given that it was Gamma and that there was a change.

    The exact posterior is Gamma(a, b) minus a share of Gamma(a, b + t), the rates that would have shown none.
    """
    stay = -log1p(seconds / span)
    none, first, second = -expm1(shape * stay), -expm1((shape + 1) * stay), -expm1((shape + 2) * stay)
    mean = shape / span * first / none
    spread = (shape + 1) / shape * second * none / (first * first) - 1
    after = 1 / max(spread, 1e-9)
    return after, after / mean


def count(record: PageRecord, changed: bool) -> None:  # noqa: FBT001
    """Counts a visit; of many, half are forgotten, so that what a page was like long ago fades."""
    if record.visits >= MOST:
        record.visits //= 2
        record.changes //= 2
    record.visits += 1
    record.changes += changed


class Prior:
    """A Gamma distribution of rates (empirical Bayes).

    The first visit of each page says how likely the change was that it found or not, whatever was known: so each page
    counts once, and the distribution follows the gradient of its likelihood.
    """

    __slots__ = ("_shape_squares", "_span_squares", "shape", "span")

    def __init__(self) -> None:
        self.shape, self.span = SHAPE, SPAN
        self._shape_squares = self._span_squares = BEGIN

    def learn(self, seconds: float, changed: bool) -> None:  # noqa: FBT001
        """Takes into account what the first visit of a page found, so long after it was fetched first."""
        seconds = max(seconds, LEAST)
        stay = self.shape * log1p(seconds / self.span)  # of the page being as it was, the negated logarithm
        factor = 1 / max(expm1(min(stay, 50.0)), 1e-9) if changed else -1.0
        by_shape = factor * stay
        by_span = -factor * self.shape * seconds / (self.span + seconds)
        self._shape_squares = self._shape_squares * PRIOR_FADE + by_shape * by_shape
        self._span_squares = self._span_squares * PRIOR_FADE + by_span * by_span
        self.shape = _within(self.shape * exp(STEP * by_shape / sqrt(self._shape_squares)), SHAPES)
        self.span = _within(self.span * exp(STEP * by_span / sqrt(self._span_squares)), SPANS)

    def state(self) -> bytes:
        return _LAYOUT.pack(self.shape, self.span, self._shape_squares, self._span_squares)

    def restore(self, data: bytes) -> None:
        if len(data) == SIZE:
            self.shape, self.span, self._shape_squares, self._span_squares = _LAYOUT.unpack(data)


def _within(value: float, bounds: tuple[float, float]) -> float:
    return max(min(value, bounds[1]), bounds[0])
