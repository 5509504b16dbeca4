"""How fast pages change, of each and of a sample of all."""

from math import exp
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.revisit import change_rate
from webcrawl.crawl.revisit.change_rate import (
    MAX_SAMPLED,
    SHAPE,
    Prior,
    Sample,
    _after_change,
    fresh_time,
    freshness,
    observe,
)
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit_counts import estimate
from webcrawl.store.jobdir.revisit_figures import DAY, EDGES, HOUR, RevisitFigures

PRIOR = (SHAPE, SHAPE * 30 * DAY)


def integrated(shape, span, visits):
    """Mean and standard deviation of the exact posterior, by numeric integration over the logarithm
    of the rate.
    """
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
    """If nothing is forgotten, the rate after many irregular visits is right within a fraction of
    its uncertainty.
    """
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
    """Changes of long ago count less: a page that changed daily for years and then stops is known
    for it in weeks.
    """
    record = observed([(DAY, True), (DAY, False)] * 1000)
    observed([(DAY, False)] * 60, record)

    assert rate(record) < 0.3 / DAY


def test_a_quiet_page_may_wake_up():
    """A page that did not change for ten years, and then changes daily, is known for it after some
    dozen visits.
    """
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
    """A page that changed at each of 200 visits, 30 days apart, may change several times in that,
    not in a minute.
    """
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
        prior.fit(pages)

    assert 0.5 < prior.mean * 3 * DAY < 1.5
    shape, span = prior.given(PageRecord("http://new/"))
    assert shape / span == pytest.approx(prior.mean)


@given(shape=st.floats(0.5, 50), days=st.floats(0.01, 1000), part=st.floats(0.001, 100))
def test_how_fresh_a_copy_is(shape, days, part):
    """The probability that nothing has changed, and its mean over the time until now, are those of
    the rates.
    """
    span = days * DAY
    rates = np.exp(np.linspace(-40, 5, 20_001))
    logarithm = shape * np.log(rates) - span * rates
    density = np.exp(logarithm - logarithm.max())  # else all of it may be too small for a float
    density /= density.sum()
    seconds = part * span

    assert freshness((shape, span), seconds) == pytest.approx(
        float(density @ np.exp(-rates * seconds)), abs=0.02
    )
    whole = float(density @ (-np.expm1(-rates * seconds) / rates))
    assert fresh_time((shape, span), seconds) == pytest.approx(whole, rel=0.05)


NOW = 1_000_000_000.0


def record(number, **values):
    return PageRecord(f"http://a.test/{number}", **{"fetched": float(number), **values})


def numbers(sample):
    return {page.fetched for page in sample}


class TestSample:
    def test_any_page_is_as_likely(self):
        """However often a page is fetched: those of one page in ten are a tenth of the sample."""
        sample, random = Sample(most=500), Random(1)
        for number in range(5000):
            for _ in range(random.choice((1, 20))):
                sample.put(record(number), 0.0)

        assert len(sample) == 500
        assert sum(number % 10 == 0 for number in numbers(sample)) == pytest.approx(50, abs=20)
        assert sum(number < 2500 for number in numbers(sample)) == pytest.approx(250, abs=60)

    def test_the_last_fetch_counts(self):
        """A page that is fetched again is as its last fetch left it."""
        sample = Sample()
        sample.put(record(1), 0.0)
        sample.put(record(1, weight=3.0, shape=2.0, span=5.0, visits=4, changes=2), 9.0)

        (page,) = sample
        assert (page.weight, page.interval, page.shape, page.span, page.visits, page.changes) == (
            3,
            9,
            2,
            5,
            4,
            2,
        )
        assert sample.find(record(1).url) is page
        assert sample.find(record(2).url) is None

    def test_a_page_that_is_gone(self):
        """It leaves the sample, and its place is not taken by one that was not small enough before."""
        sample = Sample(most=10)
        for number in range(100):
            sample.put(record(number), 0.0)
        gone = int(min(numbers(sample)))
        sample.drop(record(gone).url)
        for number in range(100):
            if number != gone:
                sample.put(record(number), 0.0)
        assert len(sample) == 9
        for number in range(100, 300):
            sample.put(record(number), 0.0)

        assert len(sample) == 10
        sample.drop("http://never.test/")

    def test_a_state_comes_back(self):
        """The restored sample has the same pages and lets in the same pages."""
        old, new = Sample(bytes(range(16))), Sample(bytes(range(16)))
        for number in range(MAX_SAMPLED + 1000):
            old.put(record(number, shape=0.5, visits=3), 8.0)
        old.prior.fit(old)
        new.restore(old.save())
        assert (new.save(), new.prior.mean) == (old.save(), old.prior.mean)
        for number in range(MAX_SAMPLED + 2000):
            for one in (old, new):
                one.put(record(number), 8.0)
        assert numbers(new) == numbers(old)


def figures(*records, interval=0.0):
    found, sample = RevisitFigures(records=len(records)), Sample()
    for number, one in enumerate(records):
        one.url = str(number)
        sample.put(one, interval)
    estimate(found, sample, NOW)
    return found


def seen(visits, **values):
    page = record(0, **{"fetched": NOW, **values})
    for seconds, changed in visits:
        observe(page, seconds, Prior(), changed=changed)
    return page


class TestEstimates:
    def test_of_a_known_rate(self):
        """A page that changes once a day on average is fresh after a day with probability 1 / e."""
        visits = ([(DAY / 50, False)] * 49 + [(DAY / 50, True)]) * 40
        found = figures(seen(visits, fetched=NOW - DAY))

        assert found.freshness == pytest.approx(exp(-1), abs=0.05)
        assert found.age == pytest.approx(DAY * exp(-1), rel=0.15)

    def test_pages_count_by_their_weight(self):
        """A page that matters three times as much counts three times."""
        stale = seen([(60.0, True)] * 9, fetched=NOW - 1000 * DAY)
        found = figures(record(0, fetched=NOW, weight=3.0), stale)

        assert found.freshness == pytest.approx(0.75, abs=1e-3)
        assert (found.sampled, found.let_go) == (2, 1)

    def test_histograms(self):
        """Pages by the time between two changes, and between two fetches, which one that was
        fetched once has not.
        """
        found = figures(
            seen([(60.0, True)] * 50), seen([(1000 * DAY, False)] * 9), interval=HOUR - 1
        )

        assert sum(found.rates) == 2
        assert found.rates[-1] == 1
        assert sum(found.rates[: EDGES.index(HOUR)]) == 1
        assert (sum(found.intervals), found.intervals[EDGES.index(HOUR)]) == (2, 2)
        assert sum(figures(record(0)).intervals) == 0

    def test_a_clock_that_was_set_back(self):
        """A page that was fetched in the future is fresh."""
        found = figures(record(0, fetched=NOW + 100))

        assert (found.freshness, found.age) == (1.0, 0.0)

    @pytest.mark.parametrize("records", [[], [record(0, fetched=NOW, weight=0.0)]])
    def test_of_no_pages(self, records):
        """Nothing is said of nothing."""
        found = figures(*records)

        assert (found.freshness, found.age, found.let_go) == (0.0, 0.0, 0)
