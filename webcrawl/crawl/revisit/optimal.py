"""Fetches a page where that is worth most, by Azar's index and estimated rates.

The index says what fetching a page again is worth, and when it will be worth so much. What is lost
to somebody who knows the rates is lost on pages that are taken to be on the wrong side of the
threshold. So up to half of the visits are early ones, to pages for which it matters on which side
they are, and for which it is not known yet. In the first visits there are few of these: until pages
are known to differ, all have one interval, by their weights.
"""

from __future__ import annotations

from math import exp, expm1, log, sqrt

from webcrawl.crawl.revisit.change_rate import MAX_SAMPLED, NARROW, Visited, fresh_time, freshness
from webcrawl.crawl.revisit.policies import PolicyOptions, Steered
from webcrawl.crawl.revisit.record import PageRecord

# the part of a page's largest value that is never reached: it would take too long
NEGLIGIBLE_VALUE = 1e-6
LONGEST_LOG_INTERVAL = 50.0  # ln(1 + t / b): longer than any crawl
SMALL = 1e-4  # ln(1 + t / b) for which the first approximation is exact enough
NEWTON_STEPS = 2  # of Newton's; the interval is then right within 1 %, mostly within 1e-6

LEARNING = 0.5  # share of the visits, at most, that are early ones
# visits of a page from which on it adds that share, and less before: early visits pay later, and
# most crawls end before that
EXPERIENCED = 8
VISITS_SAVED = 1000.0  # early visits that are kept for later
# when an early visit comes, in times of what a page on the threshold takes from one change to the
# next
# With 0.5, 1, 2 and 4 times that, who then fills the budget by what is known has 0.928, 0.938,
# 0.951 and 0.902 of the optimum (true prior, Gamma(0.5) rates, equal weights, budget 5 %).
EARLY_VISIT_SPACING = 1.5
EARLIEST_SHARE = 0.7  # of a page's interval: what comes later is no earlier visit
# ln(mean rate / rate at the threshold), times the shape, of pages that are in doubt: where somebody
# who knows the rate would gain at least 2 % of a page's freshness (integrated over its posterior)
DOUBT_FROM, DOUBT_TO = -0.3, 2.3
LIGHTEST_WEIGHT = 1e-12


def value(shape: float, span: float, seconds: float) -> float:
    """Return the expected worth of a visit so long after the last one, for a page of weight 1."""
    rate = shape, span
    return fresh_time(rate, seconds) - seconds * freshness(rate, seconds)


def interval(shape: float, span: float, worth: float) -> float:
    """Return the seconds until a page of weight 1 is worth so much; very long if never.

    The value depends on t / b alone, in units of b. In x = ln(1 + t / b) it is like a * x * x / 2
    for small x, and for large x like an exponential function, which rises without limit if a < 1,
    and to 1 / (a - 1) if a > 1. Here t is the interval, a the shape and b the span. x is
    approximated first, and then improved by Newton's method.
    """
    power = shape - 1 if abs(shape - 1) > NARROW else NARROW
    aim = worth / span  # the value at which to arrive, in units of b
    left = 1 - power * aim  # of the largest value, if there is one
    if left < NEGLIGIBLE_VALUE:
        return span * expm1(LONGEST_LOG_INTERVAL)
    x = sqrt(2 * aim / shape)
    if x < 1.2 and x * shape < 1.2:  # where the two approximations are about as good
        x += x * x * (2 * shape - 1) / 6
        if x < SMALL:
            return span * x
    else:
        x = min(-log(left / shape) / power, LONGEST_LOG_INTERVAL)
    for _ in range(NEWTON_STEPS):
        faded = exp(-power * x)
        fall = expm1(-x)
        value_at_x = (1 - faded) / power + faded * fall
        slope = -shape * faded * fall
        if power * value_at_x > 0.5:
            # near its limit, a straight line as the logarithm of what is left
            left_at_x = 1 - power * value_at_x
            x += log(left_at_x / left) * left_at_x / (power * slope)
        else:  # and far from it as a logarithm of x
            step = log(aim / value_at_x) * value_at_x / (slope * x)
            # a step from a bad approximation leads too far
            if not -2.0 < step < 2.0:
                step = 2.0 if step > 0.0 else -2.0
            x *= exp(step)
    return span * expm1(min(x, LONGEST_LOG_INTERVAL))


class Optimal(Steered):
    """A page is due when the expected value of a visit reaches the level; see `value`."""

    def __init__(self, options: PolicyOptions) -> None:
        super().__init__(options)
        # early visits that may be made to learn whether a page is worth its visits; `observe` adds
        # to them, and each such visit takes one
        self._learning = 0.0

    def interval(self, page: Visited, level: float) -> float:
        shape, span = self.options.sample.prior.given(page)
        return interval(shape, span, level / max(page.weight, LIGHTEST_WEIGHT))

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001
        super().observe(record, seconds, changed)
        part = LEARNING * min(record.visits / EXPERIENCED, 1.0)
        self._learning = min(self._learning + part, VISITS_SAVED)

    def due(self, record: PageRecord, now: float, place: float) -> float:
        """Return when a page is due; early if that tells whether revisiting it is worth its cost.

        Such visits are limited: each uses up one of `_learning`.
        """
        due = super().due(record, now, place)
        if self._learning < 1.0:
            return due
        # Seconds between two changes of a page of this weight that is on the threshold.
        between = self.level / max(record.weight, LIGHTEST_WEIGHT)
        shape, span = self.options.sample.prior.given(record)
        is_in_doubt = DOUBT_FROM < shape * log(shape / span * between) < DOUBT_TO
        early = EARLY_VISIT_SPACING * between
        usual = due - place
        # Still to come, and early enough to be no usual visit.
        is_worth_it = now - record.fetched < early < EARLIEST_SHARE * usual
        if not (is_in_doubt and is_worth_it):
            return due
        self._learning -= 1.0
        self.extra += 1.0 - early / usual  # the rest of the visit is that of its turn
        return place + early

    def declines(self, url: str) -> bool:
        """Return whether a page is left to its turn though a signal says that it has changed.

        A copy that is fetched now is expected to be fresh until the next change. If that is worth
        less than the level, other pages' turns are worth more. Only while the sample has all pages:
        else its pages would be treated unlike those for which they stand.
        """
        has_all_pages = self.options.pages() <= MAX_SAMPLED
        page = self.options.sample.find(url) if has_all_pages else None
        if page is None:
            return False
        shape, span = self.options.sample.prior.given(page)
        # span / shape: the seconds from one change to the next
        return page.weight * span / shape < self.level
