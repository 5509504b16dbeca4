"""How fast a page changes, by what its visits found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.revisit import change_rate
from webcrawl.crawl.revisit.change_rate import after_change, observe
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.sampled_rates import Rates

DAY = 86400.0
PRIOR = (0.35, 10 * DAY)
AT_FIRST = Rates().given  # as long as nothing was learned of other pages


def integrated(shape, span, visits):
    """Mean and standard deviation of the exact posterior, by numeric integration over the logarithm of the rate."""
    rate = np.exp(np.linspace(-40, 5, 200_001))
    logarithm = shape * np.log(rate) - span * rate
    for seconds, changed in visits:
        logarithm += np.log(-np.expm1(-rate * seconds)) if changed else -rate * seconds
    density = np.exp(logarithm - logarithm.max())
    mean = (density * rate).sum() / density.sum()
    return mean, np.sqrt((density * rate**2).sum() / density.sum() - mean**2)


def by_prior(shape, span):
    """The distribution of a page's rate if that of all rates is a Gamma distribution."""
    return shape + PRIOR[0], span + PRIOR[1]


def rate(record):
    shape, span = AT_FIRST(record.shape, record.span)
    return shape / span


def observed(visits, given=AT_FIRST):
    record = PageRecord("http://a/")
    for seconds, changed in visits:
        observe(record, seconds, changed, given)
    return record


@given(shape=st.floats(0.1, 50), days=st.floats(0.01, 1000), part=st.floats(0.001, 100))
def test_one_change_is_exact(shape, days, part):
    """After a change, mean and variance are those of the exact posterior."""
    span = days * DAY
    mean, deviation = integrated(shape, span, [(part * span, True)])
    after, in_span = after_change(shape, span, part * span)

    assert after / in_span == pytest.approx(mean, rel=1e-3)
    assert after**0.5 / in_span == pytest.approx(deviation, rel=1e-2)


@pytest.mark.parametrize(
    "visits",
    [
        [(DAY, False)] * 20,
        [(DAY, True)] * 10,
        [(DAY, True), (DAY, False)] * 10,
        [(DAY, False), (30 * DAY, True), (3 * DAY, False), (0.1 * DAY, True), (DAY, False)] * 3,
    ],
)
def test_many_visits_are_nearly_exact(visits, monkeypatch):
    """If nothing is forgotten, the rate after many irregular visits is right within a fraction of its uncertainty."""
    monkeypatch.setattr(change_rate, "FADE", 1.0)
    record, (mean, deviation) = observed(visits, by_prior), integrated(*PRIOR, visits)
    shape, span = by_prior(record.shape, record.span)

    assert shape / span == pytest.approx(mean, abs=0.15 * deviation)
    assert shape**0.5 / span == pytest.approx(deviation, rel=0.15)


def test_visits_without_a_change_are_exact():
    """A visit that finds nothing new adds its time, and nothing else."""
    record = observed([(DAY, False), (2 * DAY, False)])

    assert (record.shape, record.span) == (0.0, 3 * DAY)


def test_a_page_may_become_another():
    """Changes of long ago count less: a page that changed daily for years and then stops is known for it in weeks."""
    record = observed([(DAY, True), (DAY, False)] * 1000)
    for _ in range(60):
        observe(record, DAY, changed=False, given=AT_FIRST)

    assert rate(record) < 0.3 / DAY


def test_a_quiet_page_may_wake_up():
    """A page that did not change for ten years, and then changes daily, is known for it after some dozen visits."""
    record = observed([(100 * DAY, False)] * 36)
    visits = 0
    while rate(record) < 0.3 / DAY and visits < 1000:
        observe(record, max(DAY, 0.5 / rate(record)), changed=True, given=AT_FIRST)
        visits += 1

    assert visits < 80


def test_what_is_forgotten_does_not_bend_the_rate():
    """A page that changes at the same rate for ever is known as well as by its last ten changes."""
    random = np.random.default_rng(1)
    means = []
    for _ in range(300):
        record = observed([(DAY, bool(random.random() < -np.expm1(-0.5))) for _ in range(100)])
        means.append(rate(record) * DAY)

    assert np.mean(means) == pytest.approx(0.5, rel=0.1)
    assert np.std(means) < 0.25


def test_a_change_is_one_change():
    """A page that changed at each of 200 visits, 30 days apart, may change several times in that, not in a minute."""
    record = observed([(30 * DAY, True)] * 200)

    assert 1 / (30 * DAY) < rate(record) < 1 / DAY


def test_a_clock_that_is_set_back_breaks_nothing():
    """Visits in no time, or before the last one, count as a second."""
    record = observed([(-1e9, True), (0.0, True), (0.0, False)])

    assert 0 < rate(record) < 10
