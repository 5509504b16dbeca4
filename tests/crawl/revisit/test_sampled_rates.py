"""What the visits of a sample of pages say of their change rates, and a crawl of its copies."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import in_campaign
from webcrawl.crawl.revisit.change_rate import KNOWN
from webcrawl.crawl.revisit.sampled_rates import CHANGED, LOGARITHMS, PASSED, RATES, SHARES, Rates, Sampled, estimate
from webcrawl.store.jobdir.revisit_figures import DAY, EDGES, HOUR, RevisitFigures

NOW = 1_000_000_000.0


def seen(visits, at=NOW, **more):
    page = Sampled(at, **more)
    for seconds, changed in visits:
        page = page.after(seconds, changed=changed)
    return page


def figures(*pages, records=1):
    found = RevisitFigures(records=records)
    estimate(found, pages, NOW, Rates())
    return found


def brute(visits, shares):
    """The exact posterior on the grid, each visit by itself."""
    found = shares.copy()
    for seconds, changed in visits:
        unchanged = np.exp(-RATES * seconds)
        found = found * (1 - unchanged if changed else unchanged)
        found /= found.sum()
    return found


def digamma(shape):
    """The mean logarithm of a Gamma distribution whose span is 1."""
    found = 0.0
    while shape < 6:
        found, shape = found - 1 / shape, shape + 1
    return found + log(shape) - 1 / (2 * shape) - 1 / (12 * shape * shape)


class TestBeliefs:
    @given(st.lists(st.floats(60.0, 1e8), min_size=1, max_size=10))
    def test_they_are_those_of_each_visit_by_itself(self, quiet):
        """Of visits that found no change the posterior is exact."""
        visits, rates = [(one, False) for one in quiet], Rates()
        (found,) = rates.beliefs([seen(visits)])

        assert found == pytest.approx(brute(visits, np.exp(rates._logs)), abs=1e-6)

    @pytest.mark.parametrize("place", [0, 8, 16, 22])
    def test_changes_after_times_of_all_lengths(self, place):
        """That times are rounded up or down makes no rate more likely: between two that are counted all is even."""
        up = np.linspace(0, 1, 101)
        exact = np.log(-np.expm1(-np.outer(PASSED[place] * 2**up, RATES))).mean(axis=0)
        rounded = (np.outer(1 - up, CHANGED[place]) + np.outer(up, CHANGED[place + 1])).mean(axis=0)

        assert rounded == pytest.approx(exact, abs=3e-3)

    @given(st.lists(st.tuples(st.floats(HOUR, 100 * DAY), st.booleans()), min_size=1, max_size=12))
    def test_irregular_visits(self, visits):
        """At irregular intervals the rate is right within its uncertainty."""
        rates = Rates()
        (found,) = rates.beliefs([seen(visits)])
        expected, logarithm = brute(visits, np.exp(rates._logs)), np.log(RATES)
        mean = expected @ logarithm
        deviation = np.sqrt(expected @ (logarithm - mean) ** 2)

        assert found @ logarithm == pytest.approx(mean, abs=max(0.25 * deviation, 0.3))

    def test_a_change_at_each_visit(self):
        """Of 200 visits 30 days apart: it changes several times in that, not each minute."""
        (found,) = Rates().beliefs([seen([(30 * DAY, True)] * 200)])

        assert 1 / (30 * DAY) < found @ RATES < 1 / DAY

    def test_the_prior_is_learned(self):
        """Pages of which nothing is known are as those that were visited; the policy's prior has their mean."""
        random, rates = np.random.default_rng(1), Rates()
        pages = []
        for rate in random.gamma(0.5, 2 / (3 * DAY), 1000).tolist():
            gaps = (HOUR * 1000 ** random.random(8)).tolist()
            pages.append(seen((gap, bool(random.random() < -np.expm1(-rate * gap))) for gap in gaps))
        found = rates.beliefs([*pages, Sampled(NOW)])
        shape, span = rates.given(0.0, 0.0)

        assert found[-1] @ RATES == pytest.approx(1 / (3 * DAY), rel=0.15)
        assert shape / span == pytest.approx(1 / (3 * DAY), rel=0.15)
        assert shape == pytest.approx(0.5, rel=0.3)

    @pytest.mark.parametrize("seed", range(3))
    def test_pages_that_always_changed(self, seed):
        """They are as fast as the others let expect: the fastest rate there is, of a few, would outweigh thousands."""
        random = np.random.default_rng(seed)
        pages = []
        for rate in (np.exp(random.standard_normal(1000)) / (10 * DAY)).tolist():
            gaps = (HOUR * 1000 ** random.random(8)).tolist()
            visits = [(gap, bool(random.random() < -np.expm1(-rate * gap))) for gap in gaps]
            pages.append(seen(visits, at=NOW + random.random()))
        always = seen([(30 * DAY, True)] * 3 + [(HOUR / 2, True)])
        found = Rates().beliefs([*pages, always, always, always])

        assert found[-1] @ RATES < 5 / DAY

    @pytest.mark.parametrize("days", [5.9, *in_campaign(7.0, 8.3)])
    def test_visits_at_equal_intervals(self, days):
        """That changes are counted by powers of two bends no rates, although all intervals are rounded."""
        random = np.random.default_rng(1)
        rates, pages = random.gamma(4, 1 / (40 * DAY), 2000), []
        for rate in rates.tolist():
            changed = random.random(6) < -np.expm1(-rate * days * DAY)
            pages.append(seen(((days * DAY, one) for one in changed.tolist()), at=NOW + random.random()))
        found = Rates().beliefs(pages)

        assert np.exp((found @ LOGARITHMS).mean()) == pytest.approx(np.exp(np.log(rates).mean()), rel=0.08)

    @given(shape=st.floats(0.0, KNOWN), span=st.floats(HOUR, 1e9))
    def test_of_a_record(self, shape, span):
        """What a page's visits say is weighed with what others are like, which matters the less the more they say."""
        rates = Rates()
        logarithm = (1 - shape / KNOWN) * rates._logs + shape * np.log(RATES) - span * RATES
        believed = np.exp(logarithm - logarithm.max())
        believed /= believed.sum()
        found, over = rates.given(shape, span)

        assert found / over == pytest.approx(believed @ RATES, rel=0.1)
        assert digamma(found) - log(over) == pytest.approx(believed @ np.log(RATES), abs=0.1)

    @pytest.mark.parametrize("shape", [KNOWN, 1e6])
    def test_of_a_page_that_is_known(self, shape):
        """Of a page that is known well it does not matter what others are like."""
        assert Rates().given(shape, DAY) == (shape, DAY)

    def test_a_clock_that_is_set_back(self):
        """A visit before the last one counts as a second."""
        assert seen([(-1e9, False)]).quiet == 1.0

    def test_what_is_long_ago_fades(self):
        """A page that changed each day for years and then stops is known for it in weeks."""
        (found,) = Rates().beliefs([seen([(DAY, True)] * 2000 + [(DAY, False)] * 60)])

        assert found @ RATES < 1 / DAY


class TestEstimates:
    def test_of_a_known_rate(self):
        """A page that changes once a day on average is fresh after a day with probability 1 / e."""
        page = seen(([(DAY / 50, False)] * 49 + [(DAY / 50, True)]) * 40)
        found = figures(page._replace(fetched=NOW - DAY))

        assert found.freshness == pytest.approx(exp(-1), abs=0.05)
        assert found.age == pytest.approx(DAY * exp(-1), rel=0.15)

    def test_pages_count_by_their_weight(self):
        """A page that matters three times as much counts three times."""
        stale = seen([(60.0, True)] * 9)._replace(fetched=NOW - 1000 * DAY)
        found = figures(Sampled(NOW, 3.0), stale, records=2)

        assert found.freshness == pytest.approx(0.75, abs=1e-3)
        assert (found.sampled, found.let_go) == (2, 1)

    def test_histograms(self):
        """Pages by the time between two changes, and between two fetches, which one that was fetched once has not."""
        quiet = seen([(1000 * DAY, False)] * 9)
        found = figures(seen([(HOUR / 60, True)] * 50), quiet, seen([], interval=HOUR - 1))

        assert sum(found.rates) == 3
        assert found.rates[-1] == 1
        assert sum(found.rates[: EDGES.index(HOUR)]) == 1
        assert (sum(found.intervals), found.intervals[EDGES.index(HOUR)]) == (1, 1)

    def test_a_clock_that_was_set_back(self):
        """A page that was fetched in the future is fresh."""
        found = figures(Sampled(NOW + 100))

        assert (found.freshness, found.age) == (1.0, 0.0)

    @pytest.mark.parametrize("sample", [[], [Sampled(NOW, 0.0)]])
    def test_of_no_pages(self, sample):
        """Nothing is said of nothing."""
        found = figures(*sample, records=0)

        assert (found.freshness, found.age, found.let_go) == (0.0, 0.0, 0)

    def test_one_again_replaces_the_last(self):
        """Estimates do not add up."""
        found, rates = RevisitFigures(records=1), Rates()
        for _ in range(2):
            estimate(found, [Sampled(NOW)], NOW, rates)

        assert (found.sampled, sum(found.rates), sum(found.intervals)) == (1, 1, 0)


def test_nothing_is_known_at_first():
    """Then pages change once in 30 days on average."""
    assert pytest.approx(1 / (30 * DAY), rel=0.3) == SHARES @ RATES
