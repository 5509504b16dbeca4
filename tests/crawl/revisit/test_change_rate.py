"""How fast a page changes, by what its visits found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.revisit import change_rate
from webcrawl.crawl.revisit.change_rate import SHAPE, Prior, _after_change, fresh_time, freshness, observe
from webcrawl.crawl.revisit.record import PageRecord

DAY = 86400.0
PRIOR = (SHAPE, SHAPE * 30 * DAY)


def integrated(shape, span, visits):
    """Mean and standard deviation of the exact posterior, by numeric integration over the logarithm of the rate."""
    rate = np.exp(np.linspace(-40, 5, 200_001))
    logarithm = shape * np.log(rate) - span * rate
    for seconds, changed in visits:
        logarithm += np.log(-np.expm1(-rate * seconds)) if changed else -rate * seconds
    density = np.exp(logarithm - logarithm.max())
    mean = (density * rate).sum() / density.sum()
    return mean, np.sqrt((density * rate**2).sum() / density.sum() - mean**2)


def rate(record):
    shape, span = Prior().given(record)
    return shape / span


def observed(visits, record=None):
    record = record or PageRecord("http://a/")
    for seconds, changed in visits:
        observe(record, seconds, Prior(), changed=changed)
    return record


@given(shape=st.floats(0.1, 50), days=st.floats(0.01, 1000), part=st.floats(0.001, 100))
def test_one_change_is_exact(shape, days, part):
    """After a change, mean and variance are those of the exact posterior."""
    span = days * DAY
    mean, deviation = integrated(shape, span, [(part * span, True)])
    after, in_span = _after_change(shape, span, part * span)

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
    monkeypatch.setattr(change_rate, "KNOWN", 1e9)
    (mean, deviation) = integrated(*PRIOR, visits)
    shape, span = Prior().given(observed(visits))

    assert shape / span == pytest.approx(mean, abs=0.15 * deviation)
    assert shape**0.5 / span == pytest.approx(deviation, rel=0.15)


def test_visits_without_a_change_are_exact():
    """A visit that finds nothing new adds its time, and nothing else."""
    record = observed([(DAY, False), (2 * DAY, False)])

    assert (record.shape, record.span) == (0.0, 3 * DAY)


def test_a_page_may_become_another():
    """Changes of long ago count less: a page that changed daily for years and then stops is known for it in weeks."""
    record = observed([(DAY, True), (DAY, False)] * 1000)
    observed([(DAY, False)] * 60, record)

    assert rate(record) < 0.3 / DAY


def test_a_quiet_page_may_wake_up():
    """A page that did not change for ten years, and then changes daily, is known for it after some dozen visits."""
    record = observed([(100 * DAY, False)] * 36)
    visits = 0
    while rate(record) < 0.3 / DAY and visits < 1000:
        observe(record, max(DAY, 0.5 / rate(record)), Prior(), changed=True)
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


def test_the_mean_is_learned():
    """Of pages of which nothing is known, it is that of those that were visited."""
    random = np.random.default_rng(1)
    prior = Prior()
    assert prior.mean == pytest.approx(1 / (30 * DAY))
    pages = []
    for one in random.gamma(0.5, 2 / (3 * DAY), 1000).tolist():
        page = PageRecord("http://a/")
        for gap in (3600 * 1000 ** random.random(8)).tolist():
            observe(page, gap, prior, changed=bool(random.random() < -np.expm1(-one * gap)))
        pages.append(page)
    for _ in range(20):
        prior.learn(pages)

    assert 0.5 < prior.mean * 3 * DAY < 1.5
    shape, span = prior.given(PageRecord("http://new/"))
    assert shape / span == pytest.approx(prior.mean)


@given(shape=st.floats(0.5, 50), days=st.floats(0.01, 1000), part=st.floats(0.001, 100))
def test_how_fresh_a_copy_is(shape, days, part):
    """The probability that nothing has changed, and its mean over the time until now, are those of the rates."""
    span = days * DAY
    rates = np.exp(np.linspace(-40, 5, 20_001))
    logarithm = shape * np.log(rates) - span * rates
    density = np.exp(logarithm - logarithm.max())  # else all of it may be too small for a float
    density /= density.sum()
    seconds = part * span

    assert freshness((shape, span), seconds) == pytest.approx(float(density @ np.exp(-rates * seconds)), abs=0.02)
    whole = float(density @ (-np.expm1(-rates * seconds) / rates))
    assert fresh_time((shape, span), seconds) == pytest.approx(whole, rel=0.05)
