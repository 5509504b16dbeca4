"""How fast a page changes, estimated from visits at irregular times that found it changed or not."""

from __future__ import annotations

from math import expm1, log1p

from webcrawl.revisit.record import PageRecord

FADE = 0.9  # with each change, what was seen so far counts so much of what it did: a page may become another
LEAST = 1.0  # seconds between two visits; a clock that is set back says less than nothing
MOST = 250  # visits that are counted


def observe(record: PageRecord, seconds: float, changed: bool, prior: tuple[float, float]) -> None:  # noqa: FBT001
    """Puts one visit into the posterior Gamma(shape, span) of the record, and counts it."""
    shape, span = (record.shape, record.span) if record.shape > 0 and record.span > 0 else prior
    seconds = max(seconds, LEAST)
    if changed:
        shape, span = after_change(shape, span, seconds)
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
