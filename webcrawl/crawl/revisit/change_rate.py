"""Estimates how fast a page changes, from visits at irregular times that found it changed or not.

A record has what its visits alone say of the rate d, as d**shape * exp(-span * d). What is believed of a page of which
nothing is known is in no record: a Gamma distribution of rates, whose mean is learned from all pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, expm1, log1p
from typing import Protocol

KNOWN = 8.0  # a shape: of a page that is known better, with each change,
FADE = 0.9  # what was seen so far counts so much of what it did, for a page may become another
LEAST = 1.0  # seconds between two visits; a clock that is set back says less than nothing
MOST = 250  # visits that are counted
SHAPE = 0.5  # of the rates of all pages: they differ by several powers of ten
MEAN = 1 / (30 * 86_400.0)  # changes per second: what is believed before anything is known,
SURE = 10.0  # and counts as so many pages
NARROW = 1e-6  # a shape as near to 1 as this is 1

Rate = tuple[float, float]
"""The Gamma distribution that is believed of a page's rate: shape, and span in seconds."""


class Visited(Protocol):
    """A page, by what its visits have found."""

    weight: float
    shape: float
    span: float
    visits: int
    changes: int


class Prior:
    """What is believed of a page before it was visited."""

    def __init__(self) -> None:
        self.mean = MEAN

    def given(self, page: Visited) -> Rate:
        """Return what is believed of a page by its visits, and by what other pages are like.

        The more a page is known by its own visits, the less others count: of these visits only some changes count, too.
        """
        others = max(1.0 - page.shape / KNOWN, 0.0) * SHAPE
        return page.shape + others, max(page.span + others / self.mean, LEAST)

    def learn(self, pages: Iterable[Visited]) -> None:
        """Take the mean rate from these pages, as they are believed to be: a step of expectation maximization."""
        rates = [shape / span for shape, span in map(self.given, pages)]
        self.mean = (sum(rates) + SURE * MEAN) / (len(rates) + SURE)


def observe(page: Visited, seconds: float, prior: Prior, *, changed: bool) -> None:
    """Put a visit, so many seconds after the one before, into what is known of a page.

    No change is exact. A change makes of the Gamma distribution the difference of two, which becomes the one with the
    same mean and variance (expectation propagation).
    """
    seconds = max(seconds, LEAST)
    if changed:
        shape, span = prior.given(page)
        new_shape, new_span = _after_change(shape, span, seconds)
        shape = max(page.shape + new_shape - shape, 0.0)
        span = max(page.span + new_span - span, 0.0)
        kept = FADE if shape > KNOWN else 1.0
        page.shape = shape * kept
        page.span = span * kept
    else:
        page.span += seconds
    count(page, changed=changed)


def count(page: Visited, *, changed: bool) -> None:
    """Count a visit; of many, half are forgotten, so that what a page was like long ago fades."""
    if page.visits >= MOST:
        page.visits //= 2
        page.changes //= 2
    page.visits += 1
    page.changes += changed


def _after_change(shape: float, span: float, seconds: float) -> Rate:
    """Return what is believed after a change, by mean and variance."""
    stay = -log1p(seconds / span)
    none = -expm1(shape * stay)
    first = -expm1((shape + 1) * stay)
    second = -expm1((shape + 2) * stay)
    mean = shape / span * first / none
    spread = (shape + 1) / shape * second * none / (first * first) - 1
    after = 1 / max(spread, 1e-9)
    return after, after / mean


def freshness(rate: Rate, seconds: float) -> float:
    """Return the probability that a page has not changed for so long."""
    shape, span = rate
    return exp(-shape * log1p(seconds / span))


def fresh_time(rate: Rate, seconds: float) -> float:
    """Return for how many of these seconds a copy of a page was as the page, on average."""
    shape, span = rate
    power = shape - 1 if abs(shape - 1) > NARROW else NARROW
    return span * -expm1(-power * log1p(seconds / span)) / power
