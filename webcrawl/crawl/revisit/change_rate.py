"""Estimates how fast a page changes, from visits at irregular times that found it changed or not.

A record has what its visits alone say of the rate d, as d**shape * exp(-span * d); what is believed of pages of which
nothing is known is in no record, for it is learned all the time (sampled_rates.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, log1p

from webcrawl.crawl.revisit.record import PageRecord

KNOWN = 8.0  # a shape: of a page that is known better, with each change,
FADE = 0.9  # what was seen so far counts so much of what it did, for a page may become another
LEAST = 1.0  # seconds between two visits; a clock that is set back says less than nothing
MOST = 250  # visits that are counted
SHAPE, SPAN = 0.35, 0.35 * 30 * 86400  # to begin with: one change in 30 days on average, over several powers of ten

Given = Callable[[float, float], tuple[float, float]]


def at_first(shape: float, span: float) -> tuple[float, float]:
    """The Gamma distribution that is believed of a page while nothing has been learned of others."""
    return shape + SHAPE, span + SPAN


def observe(record: PageRecord, seconds: float, changed: bool, given: Given) -> None:  # noqa: FBT001
    """Puts one visit into the record, and counts it. `given`: the Gamma distribution of the rate, by such a record."""
    seconds = max(seconds, LEAST)
    if changed:
        shape, span = given(record.shape, record.span)
        after, in_span = after_change(shape, span, seconds)
        shape, span = max(record.shape + after - shape, 0.0), max(record.span + in_span - span, 0.0)
        kept = FADE if shape > KNOWN else 1.0
        record.shape, record.span = shape * kept, span * kept
    else:
        record.span += seconds
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
