"""Estimates how fast a page changes, from visits at irregular times that found it changed or not.

A page that was not visited again yet is believed to change as those did that were.
"""

from __future__ import annotations

from math import expm1, log, log1p, sqrt
from struct import Struct

from webcrawl.crawl.revisit.record import PageRecord

KNOWN = 8.0  # a shape: of a page that is known better, with each change,
FADE = 0.9  # what was seen so far counts so much of what it did, for a page may become another
LEAST = 1.0  # seconds between two visits; a clock that is set back says less than nothing
MOST = 250  # visits that are counted
SHAPE, SPAN = 0.35, 0.35 * 30 * 86400  # to begin with: one change in 30 days on average, over several powers of ten
SHAPES, SPANS = (0.1, 3.0), (60.0, 3e9)
_LAYOUT = Struct("<2d")
SIZE = _LAYOUT.size


def observe(record: PageRecord, seconds: float, changed: bool, prior: tuple[float, float]) -> None:  # noqa: FBT001
    """Puts one visit into the posterior Gamma(shape, span) of the record, and counts it."""
    shape, span = (record.shape, record.span) if record.shape > 0 and record.span > 0 else prior
    seconds = max(seconds, LEAST)
    if changed:
        shape, span = after_change(shape, span, seconds)
        kept = FADE if shape > KNOWN else 1.0
        record.shape, record.span = shape * kept, span * kept
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
    """A Gamma distribution of rates, for pages of which nothing is known; learned from a sample (sampled_rates.py)."""

    __slots__ = ("shape", "span")

    def __init__(self) -> None:
        self.shape, self.span = SHAPE, SPAN

    def fit(self, mean: float, mean_logarithm: float) -> None:
        """The most likely one for rates with this mean and this mean of their logarithms (Minka's approximation)."""
        apart = max(log(mean) - mean_logarithm, 1e-3)
        self.shape = _within((3 - apart + sqrt((apart - 3) ** 2 + 24 * apart)) / (12 * apart), SHAPES)
        self.span = _within(self.shape / mean, SPANS)

    def state(self) -> bytes:
        return _LAYOUT.pack(self.shape, self.span)

    def restore(self, data: bytes) -> None:
        if len(data) == SIZE:
            self.shape, self.span = _LAYOUT.unpack(data)


def _within(value: float, bounds: tuple[float, float]) -> float:
    return max(min(value, bounds[1]), bounds[0])
